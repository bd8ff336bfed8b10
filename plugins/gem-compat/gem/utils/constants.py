"""Constants of environments, and code to run before the programs of models."""

__all__ = ["BASE_IMPORTS", "BASE_LEETCODE_IMPORTS", "TERMINAL_STATE", "LanguageGameReward"]

TERMINAL_STATE = "<\uff5cTERMINAL_STATE\uff5c>"
"""The last observation of environments with one question and one answer."""


class LanguageGameReward:
    """The rewards of games."""

    success_reward = 1.0
    internal_step_reward = 0.0
    fail_reward = 0.0
    invalid_action_reward = 0.0
    format_error_reward = -0.1


BASE_IMPORTS = """\
import bisect
import collections
import copy
import datetime
import functools
import heapq
import io
import itertools
import math
import operator
import os
import random
import re
import string
import sys
from bisect import bisect_left, bisect_right, insort, insort_left, insort_right
from collections import Counter, OrderedDict, defaultdict, deque
from copy import deepcopy
from functools import cache, cmp_to_key, lru_cache, partial, reduce
from heapq import heapify, heappop, heappush, heapreplace, merge, nlargest, nsmallest
from itertools import (
    accumulate, chain, combinations, count, cycle, groupby, islice, pairwise, permutations,
    product, repeat, zip_longest,
)
from math import atan2, ceil, comb, factorial, floor, gcd, inf, isqrt, log, log2, log10, pi, prod
from math import sqrt
from operator import iand, itemgetter, or_, sub, xor
from os.path import commonprefix
from random import randrange, shuffle
from re import search as re_search
from string import ascii_lowercase, ascii_uppercase
from time import time
from typing import Any, Deque, Dict, List, Optional, Set, Tuple, Union
import numpy as np
import pandas as pd
"""
"""Imports of names that programs often forget."""

BASE_LEETCODE_IMPORTS = '''
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next


class TreeNode:
    def __init__(self, val=0, left=None, right=None):
        self.val = val
        self.left = left
        self.right = right


def list_node(values):
    """Return the head of a linked list of values; None if there are none."""
    head = None
    for value in reversed(list(values or [])):
        head = ListNode(value, head)
    return head


def tree_node(values):
    """Return the root of a tree whose values are given level by level, None for no node."""
    rest = iter(values or [])
    first = next(rest, None)
    if first is None:
        return None
    root = TreeNode(first)
    level = [root]
    for node in level:
        for side in ("left", "right"):
            value = next(rest, None)
            if value is not None:
                setattr(node, side, TreeNode(value))
                level.append(getattr(node, side))
    return root


def is_same_list(one, other):
    """Tell whether two linked lists have the same values."""
    while one and other and one.val == other.val:
        one, other = one.next, other.next
    return one is None and other is None


def is_same_tree(one, other):
    """Tell whether two trees have the same values at the same places."""
    if one is None or other is None:
        return one is other
    return (
        one.val == other.val
        and is_same_tree(one.left, other.left)
        and is_same_tree(one.right, other.right)
    )
'''
"""Linked lists and trees, as exercise sites define them."""
