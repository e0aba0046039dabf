package lab

import "testing"

func TestCgroupParent(t *testing.T) {
	const hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	const pure = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, c := range []struct{ name, mounts, own, want string }{
		{"hybrid", hybrid, "9:name=systemd:/\n4:memory:/x\n0::/\n", "/sys/fs/cgroup/unified"},
		{"pure", pure, "0::/user.slice/session-1.scope\n", "/sys/fs/cgroup/user.slice/session-1.scope"},
		{"mount shows a part", "30 23 0:26 /a/b /mnt/c\\040d rw - cgroup2 none rw\n", "0::/a/b/e\n", "/mnt/c d/e"},
		{"mount shows another part", "30 23 0:26 /a/b /mnt rw - cgroup2 none rw\n", "0::/a/bc\n", ""},
		{"the second mount shows it", "30 23 0:26 /a /m1 rw - cgroup2 none rw\n31 23 0:26 / /m2 rw - cgroup2 none rw\n", "0::/b\n", "/m2/b"},
		{"v1 only", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "4:memory:/x\n", ""},
		{"not mounted", "", "0::/\n", ""},
	} {
		got, err := cgroupParent([]byte(c.mounts), []byte(c.own))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.name, got, err, c.want)
		}
	}
}

// makeCgroups and removeCgroup work on plain directories as well: on error nothing is left.
func TestMakeCgroups(t *testing.T) {
	home := t.TempDir() + "/nightshift-x"
	paths := []string{home + "/n1", home + "/n2"}
	if err := makeCgroups(home, paths); err != nil {
		t.Fatal(err)
	}
	if err := removeCgroup(home); err == nil {
		t.Error("a cgroup with others inside was removed")
	}
	for _, p := range append(paths, home) {
		if err := removeCgroup(p); err != nil {
			t.Error(err)
		}
	}
	if err := makeCgroups(home, []string{home + "/n1", home + "/no/n2"}); err == nil || exists(home) {
		t.Errorf("%v, and %s is left: %v", err, home, exists(home))
	}
}
