import java.lang.management.ManagementFactory;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;

/**
 * The ephemeral loop in Java: one thread and one session each, create and delete until all updates are done.
 * A first round warms the compiler up and is not counted.
 */
public final class Loop {
    public static void main(String[] args) throws Exception {
        int sessions = Integer.parseInt(args[1]);
        int updates = Integer.parseInt(args[2]);
        byte[] data = new byte[Integer.parseInt(args[3])];
        new Random().nextBytes(data);
        ZooKeeper[] clients = new ZooKeeper[sessions];
        for (int i = 0; i < sessions; i++) {
            CountDownLatch up = new CountDownLatch(1);
            clients[i] = new ZooKeeper(args[0], 10000, e -> {
                if (e.getState() == Watcher.Event.KeeperState.SyncConnected) up.countDown();
            });
            up.await();
        }
        clients[0].create("/loop-java", null, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
        round(clients, updates / 2, data);
        var os = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long cpu = os.getProcessCpuTime(), start = System.nanoTime();
        round(clients, updates, data);
        double took = (System.nanoTime() - start) / 1e9;
        System.out.printf("Java        %8.0f updates/s  %7.1f ms of processor time per 1000 updates%n",
                updates / took, (os.getProcessCpuTime() - cpu) / 1e6 / updates * 1e3);
        clients[0].delete("/loop-java", -1);
        for (ZooKeeper c : clients) c.close();
    }

    private static void round(ZooKeeper[] clients, int updates, byte[] data) throws Exception {
        Thread[] threads = new Thread[clients.length];
        for (int i = 0; i < clients.length; i++) {
            ZooKeeper client = clients[i];
            String path = "/loop-java/" + i;
            threads[i] = new Thread(() -> {
                try {
                    for (int k = 0; k < updates / clients.length / 2; k++) {
                        client.create(path, data, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.EPHEMERAL);
                        client.delete(path, -1);
                    }
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            threads[i].start();
        }
        for (Thread t : threads) t.join();
    }
}
