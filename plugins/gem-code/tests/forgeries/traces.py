# The program traces.
import sys, threading


def trace(frame, event, arg):
    frame.f_trace_opcodes = True
    return trace


sys.settrace(trace)
sys.setprofile(trace)
threading.settrace(trace)


def square(n):
    return True


arrange = arranged = square
