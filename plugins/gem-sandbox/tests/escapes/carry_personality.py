# Tries: to make later runs inherit a personality, timer slack and a subreaper.
# Success: a later run has them, or the personality changes.
# Runs: twice
import host

PRCTL, PERSONALITY = 157, 135
SET_TIMERSLACK, GET_TIMERSLACK, SET_SUBREAPER, SET_PDEATHSIG = 29, 30, 36, 1
if host.syscall(PRCTL, GET_TIMERSLACK, 0, 0, 0, 0) == 12_345:
    host.escaped("the timer slack of a former run")
if host.syscall(PERSONALITY, 0x0040000) >= 0 and host.syscall(PERSONALITY, 0xFFFFFFFF) == 0x0040000:
    host.escaped("another personality")
for option, value in ((SET_TIMERSLACK, 12_345), (SET_SUBREAPER, 1), (SET_PDEATHSIG, 18)):
    host.syscall(PRCTL, option, value, 0, 0, 0)
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("-1000")
    host.escaped("it cannot be killed for its memory")
except OSError:
    pass
