"""Is killed while its cluster serves."""
import os
import signal

from tfmesos3 import cluster

c = cluster({"name": "worker", "num": 1}, name="killed")
c.wait_until_ready()
os.kill(os.getpid(), signal.SIGKILL)
