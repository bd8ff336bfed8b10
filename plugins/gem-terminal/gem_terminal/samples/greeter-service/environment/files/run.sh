#!/bin/bash
cd /app
export GREETER_CONFIG=config/services.json
setsid python3 service.py >>log/service.log 2>&1 </dev/null &
