package lab

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"nightshift/soak/config"
	"nightshift/soak/target"
)

// zookeeper runs Apache ZooKeeper: QuorumPeerMain, which runs alone when its configuration names no servers.
func zookeeper() recipe {
	return recipe{
		versions: []string{"3.9.5"},
		artifacts: func(v string) []artifact {
			return []artifact{
				{"org.apache.zookeeper", "zookeeper", v},
				// The server needs these at run time although its POM marks them provided.
				{"io.dropwizard.metrics", "metrics-core", "4.1.12.1"},
				{"org.xerial.snappy", "snappy-java", "1.1.10.5"},
				{"org.eclipse.jetty", "jetty-server", "9.4.57.v20241219"},
				{"org.eclipse.jetty", "jetty-servlet", "9.4.57.v20241219"},
				{"com.fasterxml.jackson.core", "jackson-databind", "2.15.2"},
				{"commons-cli", "commons-cli", "1.5.0"},
				{"ch.qos.logback", "logback-classic", "1.3.15"},
			}
		},
		refused: zookeeperRefused,
		ports:   []string{"client", "quorum", "election", "admin"},
		dirs:    zookeeperDirs,
		files:   zookeeperFiles,
		launch:  zookeeperLaunch,
		ready:   zookeeperReady,
	}
}

// zookeeperDefaults suit a lab on one host: short ticks make elections and session expiry quick, every slow fsync is
// logged, and all four-letter words are open to the probes.
var zookeeperDefaults = [][2]string{
	{"tickTime", "500"},
	{"initLimit", "10"},
	{"syncLimit", "6"},
	{"maxClientCnxns", "0"},
	{"fsync.warningthresholdms", "20"},
	{"4lw.commands.whitelist", "*"},
	{"admin.enableServer", "false"},
}

// zookeeperRefused says why a setting can't be given: addresses and directories are the lab's, and a server takes its
// default without a word for a property that it can't read or does not know, so that the run would be another one.
func zookeeperRefused(key, value string) string {
	switch key {
	case "dataLogDir":
		return "the lab chooses dataLogDir; write `split: true` to have it apart from dataDir"
	case "dataDir":
		return "the lab chooses dataDir; write `data: DIR` to have it on another disk"
	case "clientPort", "clientPortAddress", "secureClientPort", "secureClientPortAddress", "observerMasterPort",
		"dynamicConfigFile", "admin.serverPort", "admin.serverAddress":
		return fmt.Sprintf("the lab chooses %s itself", key)
	}
	if strings.HasPrefix(key, "server.") || key == "version" {
		return fmt.Sprintf("the lab chooses %s itself", key)
	}
	if slices.Contains(zookeeperNumbers, key) {
		if _, err := strconv.ParseInt(value, 10, 64); err != nil {
			return fmt.Sprintf("%s=%q: it takes a whole number", key, value)
		}
		return ""
	}
	known := slices.Concat(zookeeperNumbers, zookeeperConfigKeys, zookeeperBareProperties)
	if near := config.Nearest(key, known); near != "" && !slices.Contains(known, key) {
		return fmt.Sprintf("%s is no setting that is known here; did you mean %s? If not, write it as zookeeper.%s", key, near, key)
	}
	return ""
}

// zookeeperNumbers are settings that take a whole number (3.9). The server reads the properties among them with
// Java's Integer.getInteger and Long.getLong, which fall back in silence.
var zookeeperNumbers = []string{
	"autopurge.purgeInterval", "autopurge.snapRetainCount", "commitLogCount", "fsync.warningthresholdms", "globalOutstandingLimit",
	"initLimit", "jute.maxbuffer", "maxClientCnxns", "maxCnxns", "maxSessionTimeout", "minSessionTimeout", "preAllocSize",
	"snapCount", "snapSizeLimitInKb", "syncLimit", "tickTime",
}

func zookeeperDirs(s Spec, id string) (data, logs string) {
	data = filepath.Join(s.dataDir(id), "data")
	if s.Split {
		return data, filepath.Join(s.dataDir(id), "txnlog")
	}
	return data, data
}

func zookeeperFiles(s Spec, n *node, all []*node) map[string][]byte {
	return map[string][]byte{
		filepath.Join(n.dir, "zoo.cfg"):     zooCfg(s, n, all),
		filepath.Join(n.dir, "logback.xml"): []byte(logback),
		filepath.Join(n.dataDir, "myid"):    []byte(strconv.Itoa(n.index+1) + "\n"),
	}
}

// zooCfg renders the configuration. ZooKeeper turns keys it does not know into system properties "zookeeper.KEY";
// those read without that prefix, or before the file is, are passed by zookeeperLaunch as well.
func zooCfg(s Spec, n *node, all []*node) []byte {
	var b bytes.Buffer
	line := func(k, v string) { fmt.Fprintf(&b, "%s=%s\n", propEscape(k, true), propEscape(v, false)) }
	line("dataDir", n.dataDir)
	if n.logDir != n.dataDir {
		line("dataLogDir", n.logDir)
	}
	line("clientPort", strconv.Itoa(n.ports["client"]))
	line("clientPortAddress", host)
	for _, kv := range zookeeperSettings(s) {
		if !strings.HasPrefix(kv[0], "zookeeper.") {
			line(kv[0], kv[1])
		}
	}
	line("admin.serverAddress", host)
	line("admin.serverPort", strconv.Itoa(n.ports["admin"]))
	if len(all) > 1 {
		for _, o := range all {
			line("server."+strconv.Itoa(o.index+1), fmt.Sprintf("%s:%d:%d", host, o.ports["quorum"], o.ports["election"]))
		}
	}
	return b.Bytes()
}

// zookeeperSettings are the defaults, as far as the plan does not change them, and then the plan's.
func zookeeperSettings(s Spec) [][2]string {
	var all [][2]string
	for _, kv := range zookeeperDefaults {
		if _, set := s.Settings[kv[0]]; !set {
			all = append(all, kv)
		}
	}
	for _, k := range sortedKeys(s.Settings) {
		all = append(all, [2]string{k, s.Settings[k]})
	}
	return all
}

// zookeeperConfigKeys are the keys QuorumPeerConfig reads from zoo.cfg itself (3.9).
var zookeeperConfigKeys = []string{
	"autopurge.purgeInterval", "autopurge.snapRetainCount", "clientPortListenBacklog", "connectToLearnerMasterLimit",
	"electionAlg", "initLimit", "jvm.pause.info-threshold.ms", "jvm.pause.monitor", "jvm.pause.sleep.time.ms",
	"jvm.pause.warn-threshold.ms", "localSessionsEnabled", "localSessionsUpgradingEnabled", "maxClientCnxns",
	"maxSessionTimeout", "minSessionTimeout", "multiAddress.enabled", "multiAddress.reachabilityCheckEnabled",
	"multiAddress.reachabilityCheckTimeoutMs", "oraclePath", "peerType", "portUnification", "quorumListenOnAllIPs",
	"reconfigEnabled", "sslQuorum", "sslQuorumReloadCertFiles", "standaloneEnabled", "syncEnabled", "syncLimit", "tickTime",
}

// zookeeperBareProperties are read without the prefix "zookeeper.", so that zoo.cfg alone does not set them (3.9).
var zookeeperBareProperties = []string{
	"follower.nodelay", "jute.maxbuffer", "leader.nodelay", "readonlymode.enabled", "znode.container.checkIntervalMs",
	"znode.container.maxNeverUsedIntervalMs", "znode.container.maxPerMinute",
}

// zookeeperProperties are the settings that are system properties, as java arguments.
func zookeeperProperties(s Spec) []string {
	var args []string
	for _, kv := range zookeeperSettings(s) {
		k, v := kv[0], kv[1]
		switch {
		case slices.Contains(zookeeperConfigKeys, k), strings.HasPrefix(k, "quorum."),
			strings.HasPrefix(k, "metricsProvider."), strings.HasPrefix(k, "group."), strings.HasPrefix(k, "weight."):
			continue
		case strings.HasPrefix(k, "zookeeper."):
			args = append(args, "-D"+k+"="+v)
			continue
		case slices.Contains(zookeeperBareProperties, k):
			args = append(args, "-D"+k+"="+v)
		}
		args = append(args, "-Dzookeeper."+k+"="+v)
	}
	return args
}

func zookeeperLaunch(s Spec, n *node, j java, jars string) target.Launch {
	argv := append([]string{j.path}, jvmArgs(s)...)
	argv = append(argv, "-Dlogback.configurationFile="+filepath.Join(n.dir, "logback.xml"))
	argv = append(argv, zookeeperProperties(s)...)
	argv = append(argv, s.JVM...)
	argv = append(argv, "-cp", filepath.Join(jars, "*"), "org.apache.zookeeper.server.quorum.QuorumPeerMain", filepath.Join(n.dir, "zoo.cfg"))
	return target.Launch{Argv: argv, Env: jvmEnv(os.Environ()), Dir: n.dir}
}

// logback writes times in UTC with milliseconds, so that lines can be placed on the time line of a run. The log is
// bounded: a night of stalls must not fill the disk that is being watched.
const logback = `<configuration>
  <appender name="file" class="ch.qos.logback.core.rolling.RollingFileAppender">
    <file>server.log</file>
    <append>true</append>
    <encoder>
      <pattern>%d{yyyy-MM-dd'T'HH:mm:ss.SSS'Z',UTC} %-5level [%thread] %logger{0} - %msg%n</pattern>
    </encoder>
    <rollingPolicy class="ch.qos.logback.core.rolling.FixedWindowRollingPolicy">
      <fileNamePattern>server.%i.log</fileNamePattern>
      <minIndex>1</minIndex>
      <maxIndex>3</maxIndex>
    </rollingPolicy>
    <triggeringPolicy class="ch.qos.logback.core.rolling.SizeBasedTriggeringPolicy">
      <maxFileSize>64MB</maxFileSize>
    </triggeringPolicy>
  </appender>
  <root level="INFO">
    <appender-ref ref="file"/>
  </root>
</configuration>
`

// propEscape writes s so that java.util.Properties reads it back: it takes bytes for Latin-1, and backslashes for escapes.
func propEscape(s string, key bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == '\\', key && strings.ContainsRune("=: \t", r), i == 0 && strings.ContainsRune("#! \t", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r > 0x7e || r < 0x20:
			for _, u := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, u)
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
