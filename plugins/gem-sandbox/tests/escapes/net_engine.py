# Tries: to control the container engine.
# Success: its socket answers.
import socket

import host

for path in (
    *host.ENGINE_SOCKETS,
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
):
    try:
        socket.socket(socket.AF_UNIX).connect(path)
        host.escaped(path)
    except OSError:
        pass
