# Tries: to lift its own restrictions: no_new_privs, seccomp, dumpable.
# Success: a restriction is lifted.
import host

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, PR_CAPBSET_READ = 38, 22, 23
if host.syscall(157, PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0:
    host.escaped("no_new_privs")
if host.syscall(157, 22, 0, 0, 0, 0) == 0:
    host.escaped("seccomp")
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2":
    host.escaped("no filter")
