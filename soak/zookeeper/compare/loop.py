"""The ephemeral loop in Python: SESSIONS kazoo clients, one thread each, create and delete until UPDATES are done.

Prints updates a second and processor time of this process per 1000 updates.
"""

import os
import resource
import sys
import threading
import time

from kazoo.client import KazooClient

servers, sessions, updates, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
data = os.urandom(size)
clients = [KazooClient(hosts=servers) for _ in range(sessions)]
for c in clients:
    c.start()
clients[0].ensure_path("/loop-py")


def work(i, client):
    path = "/loop-py/%d" % i
    for _ in range(updates // sessions // 2):
        client.create(path, data, ephemeral=True)
        client.delete(path)


threads = [threading.Thread(target=work, args=(i, c)) for i, c in enumerate(clients)]
before, start = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
for t in threads:
    t.start()
for t in threads:
    t.join()
took, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_SELF)
cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
print("kazoo       %8.0f updates/s  %7.1f ms of processor time per 1000 updates" % (updates / took, cpu / updates * 1e3 * 1e3))
clients[0].delete("/loop-py")
for c in clients:
    c.stop()
