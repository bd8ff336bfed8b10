"""Machines in namespaces of the kernel, over the host's programs or the files of an image.

What connects the processes, where ``==`` starts a process and ``--`` is a socket or a pipe::

    host == channel ==> server == go_on ==> process 1 ===================> job
      |                                      |  |  |                       |  |
      |                                      |  |  +==> root's maker       |  |
      |                                      |  +=====> packer             |  |
      |                                      |            |                |  |
      +------- control: requests, answers ---+            |                |  |
      +------- archive, report ---------------------------+                |  |
      +------- streams: standard input, output, script --------------------+  |
      +------- status: how the job has ended (process 1 writes it) -----------+

============  ==========================================================================
process       its modules
============  ==========================================================================
host          provider (``LocalProvider``, ``LocalMachine``), server_process, images
server        server; groups, calls: one thread, one for each host process
process 1     server (``_begin``), then jobs: the first process of a machine
root's maker  root, plain_root, copy_tree: a child that ends when the root file system is made
packer        jobs (``_pack``): a child that writes an archive, while jobs are stopped
job           the machine's programs
============  ==========================================================================

Channel and control carry packets in the format of ``messages``: values and descriptors.

============  ================  ======================  =========================================
descriptor    opened by         held by                 closed
============  ================  ======================  =========================================
channel       ServerProcess     host, server            the host's end by ``_drop``, and in a fork
              (socket pair)                             by ``forget``; the server ends with it
boot, entries ServerProcess     server                  by the host once they were sent; the
              (files in memory)                         server closes ``entries``, not ``boot``
owner         serve             server                  never: the server ends when the host does
              (process)
outside,      MachineServer     server                  never
users
control       LocalProvider     host, first process     ``theirs`` by the host and the server once
              (socket pair)                             it was sent; the host's end by
                                                        ``_hang_up``; process 1 ends with it
source,       LocalMachine,     root's maker            by the host and the server once sent; by
built         LocalProvider                             process 1 before the first request
go_on, mapped MachineServer     server, first process   by the server; ``go_on`` as ``source``
below, before MachineServer     first process           as ``source``
layers        mount_memory      first process           never; the host closes the copy that
                                                        ``stop`` returns
ended, wakeup serve             server, first process   never: one pipe in each
streams       Pipes             host, job               the job's ends by the host once the job
                                                        has started; the rest by ``close_all``
status        LocalMachine      host, first process     process 1 writes ``STATUS`` and closes;
              (pipe)                                    the host together with the streams
archive       LocalMachine      host, packer            by both at the end of the archive
(socket pair)
report        LocalMachine      host, first process,    process 1 as ``status``; the packer may
              (pipe)            packer                  write a reason before
file,         first process     host                    by process 1 when it was sent; by the host
listener                                                after use
============  ================  ======================  =========================================

Process 1 closes all that it has inherited, except 0 to 2, control and layers, before it says that
it has started; a job keeps its own descriptors only. Descriptors that come with a request are
closed after its answer, except the status of a job. So a lost end is noticed by the other process:
the machine ends with its control socket, the server with its channel or its owner, and a job's
status ends without a report if the machine ends.
"""
