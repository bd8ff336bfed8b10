#!/bin/bash
set -e
mkdir -p /app/new
python3 - <<'END'
import glob, os
for path in glob.glob("/app/old/*.ini"):
    sections = []
    for line in open(path):
        line = line.strip()
        if line.startswith("["):
            sections.append((line.replace("[server]", "[listen]"), []))
        elif line and line[0] not in "#;":
            key, value = (part.strip() for part in line.split("=", 1))
            key = key.lower()
            if sections[-1][0] == "[listen]" and key == "bind_addr":
                key = "address"
            if sections[-1][0] == "[log]" and key == "level":
                key, value = "severity", value.upper()
                value = "WARNING" if value == "WARN" else value
            sections[-1][1].append((key, value))
    with open("/app/new/" + os.path.basename(path), "w") as file:
        for name, settings in sections:
            if name == "[listen]" and "timeout" not in dict(settings):
                settings.append(("timeout", "30"))
            print(name, *(f"{key} = {value}" for key, value in settings), sep="\n", file=file)
END
