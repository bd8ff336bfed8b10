#!/bin/bash
# Starts every service in the background: services/NAME.conf has its settings.
cd /app
for file in services/*.conf; do
  (
    . "$file"
    setsid python3 server.py "$NAME" "$PORT" >/dev/null 2>&1 </dev/null &
  )
done
