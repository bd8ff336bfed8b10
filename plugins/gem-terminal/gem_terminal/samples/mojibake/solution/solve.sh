#!/bin/bash
set -e
python3 - <<'END'
import glob
for path in glob.glob("/app/texts/*.txt"):
    text = open(path, encoding="utf-8").read()
    while any(letter in text for letter in "ÃÂâ"):
        text = text.encode("cp1252").decode("utf-8")
    open(path, "w", encoding="utf-8").write(text)
END
