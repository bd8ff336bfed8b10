#!/bin/bash
set -e
python3 - <<'END'
import json, sqlite3
run = sqlite3.connect("/app/library.db").execute
loans = dict(run("SELECT title, COUNT(loans.id) FROM books LEFT JOIN loans ON book_id = books.id GROUP BY books.id"))
kept = dict(run("SELECT reader, COUNT(*) FROM loans WHERE returned IS NULL GROUP BY reader"))
never = sorted(title for title, count in loans.items() if not count)
json.dump({"loans": loans, "never_lent": never, "not_returned": kept}, open("/app/report.json", "w"))
END
