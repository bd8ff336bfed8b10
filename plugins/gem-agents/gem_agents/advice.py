"""What to change when an endpoint refuses the first request of a run."""

from gem_agents.client import Client
from gem_agents.errors import AccessError, EndpointError, MalformedReplyError, UnknownModelError

__all__ = ["with_advice"]

_MOST_NAMES = 5
_NO_CREDIT = 402
_PATH = "Check base_url, which includes the path, such as /v1"


async def with_advice(
    error: EndpointError, client: Client, *, model: str, key_env: str
) -> EndpointError:
    """Return an error whose message also says what to change.

    Args:
        error: The error of a request.
        client: The client, which is asked for the names of the models if that helps.
        model: Name of the model.
        key_env: The environment variable of the key.
    """
    advice = await _advice(error, client, model, key_env)
    message = f"{error} {advice}".rstrip()
    return type(error)(message, error.status, error.url, error.body)


async def _advice(error: EndpointError, client: Client, model: str, key_env: str) -> str:
    if isinstance(error, AccessError):
        if error.status == _NO_CREDIT:
            return ""
        return f"Set the key in {key_env}, or name another variable with api_key_env."
    if isinstance(error, MalformedReplyError):
        return f"{_PATH}."
    if not isinstance(error, UnknownModelError):
        return ""
    names = list(await client.models())
    if not names:
        return f"{_PATH}, and model."
    return "" if model in names else f"It serves {', '.join(names[:_MOST_NAMES])}: change model."
