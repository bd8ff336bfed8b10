#!/bin/bash
mkdir -p /logs/verifier
if python3 -I - <<'END'
with open("/app/errors.txt") as file:
    assert file.read().rstrip("\n") == """\
billing 12
export 11
mailer 8
auth 7
search 5"""
END
then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
