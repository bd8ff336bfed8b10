"""Tasks in terminals of Docker containers, which gem-core does not have yet."""

from gem.requirements import absent

__getattr__ = absent(__name__, ["DockerEnv", "TaskConfig", "ContainerConfig"], "tasks in terminals")
