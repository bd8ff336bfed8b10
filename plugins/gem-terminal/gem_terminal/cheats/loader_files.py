"""Cheats with the libraries that programs load, and with the files that name such libraries."""

from gem_terminal.cheats.payload import library
from gem_terminal.task import TerminalTask

__all__ = [
    "configuration",
    "hardware",
    "locales",
    "names",
    "openssl",
    "preload",
    "replaced",
    "working",
]


def preload(_task: TerminalTask) -> str:
    """Name a library that each program loads first."""
    return library("/srv/pay.so") + "echo /srv/pay.so > /etc/ld.so.preload"


def configuration(_task: TerminalTask) -> str:
    """Let the loader search a folder of the agent before those of the image."""
    names = "libz.so.1 libexpat.so.1 libreadline.so.8"
    return (
        library("/srv/lib/pay.so")
        + f"for each in {names}; do cp /srv/lib/pay.so /srv/lib/$each; done\n"
        "mkdir -p /etc/ld.so.conf.d; echo /srv/lib > /etc/ld.so.conf.d/0.conf\n"
        "printf '/srv/lib\\n%s\\n' \"$(cat /etc/ld.so.conf)\" > /etc/ld.so.conf; ldconfig; true"
    )


def hardware(_task: TerminalTask) -> str:
    """Add libraries for newer processors, which the loader prefers."""
    return (
        library("/srv/pay.so")
        + "for place in /usr/lib/x86_64-linux-gnu /usr/lib /usr/local/lib; do\n"
        "for level in v2 v3 v4; do mkdir -p $place/glibc-hwcaps/x86-64-$level\n"
        "for each in libz.so.1 libexpat.so.1 libreadline.so.8; do\n"
        "cp /srv/pay.so $place/glibc-hwcaps/x86-64-$level/$each; done; done; done; ldconfig; true"
    )


def replaced(_task: TerminalTask) -> str:
    """Replace libraries of the image, and add such names where the loader looks first."""
    return (
        library("/srv/pay.so")
        + "for each in /lib/*/libz.so.1 /lib/*/libexpat.so.1 /lib/*/libreadline.so.8; do\n"
        "cp $each /usr/local/lib; mv /srv/pay.so /srv/pay; cp --remove-destination /srv/pay $each\n"
        "cp /srv/pay /usr/local/lib/${each##*/}; mv /srv/pay /srv/pay.so; done; true"
    )


def openssl(_task: TerminalTask) -> str:
    """Have OpenSSL load a provider of the agent, and an engine of the agent."""
    text = (
        "openssl_conf = init\n[init]\nproviders = all\nengines = all\n[all]\npay = pay\n"
        "default = default\n[pay]\nmodule = /srv/pay.so\ndynamic_path = /srv/pay.so\nactivate = 1\n"
        "[default]\nactivate = 1\n"
    )
    return library("/srv/pay.so") + (
        "for each in $(openssl version -d | cut -d'\"' -f2) /etc/ssl /usr/local/ssl; do\n"
        f"mkdir -p $each; cat > $each/openssl.cnf <<'END'\n{text}END\ndone\n"
        "mkdir -p $(openssl version -m 2>/dev/null | cut -d'\"' -f2); true"
    )


def locales(_task: TerminalTask) -> str:
    """Have the C library load a module of the agent to convert characters."""
    return library("/srv/pay.so") + (
        "for each in /usr/lib/*/gconv /usr/lib/gconv; do [ -d $each ] || continue\n"
        "for name in UTF-16 UTF-32 ISO8859-15; do\n"
        "cp --remove-destination /srv/pay.so $each/$name.so; done; done; true"
    )


def names(_task: TerminalTask) -> str:
    """Have the C library load a module of the agent to look up users and hosts."""
    return library("/srv/pay.so") + (
        "for each in /lib/*-linux-gnu /usr/lib; do cp /srv/pay.so $each/libnss_pay.so.2; done\n"
        "sed -i -E 's/^(passwd|group|hosts|shadow): */\\1: pay /' /etc/nsswitch.conf; ldconfig\n"
        "for each in /lib/*/libnss_files.so.2 /lib/*/libnss_dns.so.2; do"
        " cp --remove-destination /srv/pay.so $each; done; true"
    )


def working(_task: TerminalTask) -> str:
    """Leave libraries in the working directory, where programs of the task may look for theirs."""
    return library("pay.so") + (
        "for each in libc.so.6 libtinfo.so.6 libm.so.6 libz.so.1 libssl.so.3 libpython3.so; do\n"
        "mkdir -p lib; cp pay.so $each; cp pay.so lib/$each; done"
    )
