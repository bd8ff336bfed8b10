"""AReaL, checked through its own ``WorkflowExecutor`` and ``check_trajectory_format``."""

from collections.abc import Mapping, Sequence
from typing import Any

from areal.api import ModelRequest, ModelResponse, RolloutWorkflow
from areal.api.cli_args import GenerationHyperparameters, InferenceEngineConfig
from areal.infra import WorkflowExecutor

from gem_adapters.areal import GemWorkflow
from gem_adapters.rows import plain_layout
from gem_adapters.testing.adapters import Case, Harness, Played, ScriptedModel
from gem_rollout import Row

__all__ = ["HARNESS", "play", "row_of_tensors"]


class _Harness(Harness):
    name = "areal"
    distribution = "areal"
    versions = ("1.0.4",)
    one_sequence = True
    takes = frozenset({"scalar", "logprobs", "limits"})
    faults = "dropped"

    def play(self, case: Case) -> list[Played]:
        """Play each episode as a task of AReaL's executor."""
        rows = [plain_layout(row) for row in case.rows for _ in range(case.samples)]
        return [_played(*one) for one in play(_workflow(case), _InferenceEngine(case.model), rows)]


def _workflow(case: Case) -> GemWorkflow:
    limits = case.limits
    sampling = {"max_new_tokens": limits.turn_tokens, "max_tokens": limits.context}
    return GemWorkflow(
        GenerationHyperparameters(**{k: v for k, v in sampling.items() if v is not None}),
        case.tokenizer,
        config=case.config or [],
        one_sequence="last" if case.one_sequence == "last" else "raise",
        prompt_tokens=limits.prompt_tokens,
        response_tokens=limits.response_tokens,
        policy=case.policy,
    )


class _InferenceEngine:
    """Replies with the model of a case, as AReaL's ``InferenceEngine`` does."""

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    def get_version(self) -> int:
        return 0

    async def agenerate(self, request: ModelRequest) -> ModelResponse | None:
        room = request.gconfig.max_new_tokens
        sampled = await self._model.asample(request.input_ids, room)
        if sampled is None:
            return None
        return ModelResponse(
            input_tokens=request.input_ids,
            output_tokens=sampled.ids,
            output_logprobs=sampled.logprobs,
            output_versions=[0] * len(sampled.ids),
            stop_reason="stop" if sampled.is_complete else "length",
        )


def _played(tensors: Mapping[str, Any] | None, error: BaseException | None) -> Played:
    if error is not None:
        return Played([], "raised", f"{type(error).__name__}: {error}")
    if tensors is None:
        return Played([], "dropped", "")
    return Played([row_of_tensors(tensors)], "row", "")


class _ErrorKeeper(RolloutWorkflow):  # type: ignore[misc]
    """Keeps the errors of a workflow, which AReaL's executor only logs."""

    def __init__(self, workflow: RolloutWorkflow) -> None:
        self.workflow = workflow
        self.error: BaseException | None = None

    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> Any:
        try:
            return await self.workflow.arun_episode(engine, data)
        except Exception as error:
            self.error = error
            raise


def play(
    workflow: RolloutWorkflow,
    engine: Any,
    rows: Sequence[Mapping[str, Any]],
    *,
    seconds: float = 120.0,
) -> list[tuple[dict[str, Any] | None, BaseException | None]]:
    """Play rows at the same time with AReaL's executor.

    Args:
        workflow: The workflow.
        engine: An inference engine with ``agenerate`` and ``get_version``.
        rows: The rows, one for each episode.
        seconds: Longest wait for an episode.

    Returns:
        For each row, its tensors, None if the episode was rejected; and the error that the
        workflow raised.
    """
    config = InferenceEngineConfig(
        max_concurrent_rollouts=len(rows),
        consumer_batch_size=len(rows),
        check_trajectory_format=True,
    )
    executor = WorkflowExecutor(config, engine)
    executor.initialize(train_data_parallel_size=1)
    try:
        workflows = [_ErrorKeeper(workflow) for _ in rows]
        tasks = [executor.submit(dict(row), one) for row, one in zip(rows, workflows, strict=True)]
        tensors = [executor.wait_for_task(task, timeout=seconds) for task in tasks]
        return [(found, one.error) for found, one in zip(tensors, workflows, strict=True)]
    finally:
        executor.destroy()


def row_of_tensors(tensors: Mapping[str, Any]) -> Row:
    """Return the row that AReaL's trainer holds for an episode."""
    ids, mask = tensors["input_ids"][0].tolist(), tensors["loss_mask"][0].bool().tolist()
    start = mask.index(True)
    return Row(
        prompt_ids=ids[:start],
        response_ids=ids[start:],
        mask=mask[start:],
        logprobs=tensors["logprobs"][0].tolist()[start:],
        reward=float(tensors["rewards"][0]),
    )


HARNESS = _Harness()
