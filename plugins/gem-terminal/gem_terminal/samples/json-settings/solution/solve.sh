#!/bin/bash
set -e
cat > /app/settings.json <<'END'
{
  "name": "gateway",
  "port": 8443,
  "hosts": ["a.example", "b.example"],
  "tls": {"enabled": true, "cert": "/etc/tls/cert.pem"},
  "retries": 3,
  "limits": {"requests": 1000, "burst": 50},
  "debug": false
}
END
