"""Every public name of gem-llm is at its path, with the parameters that it has there."""

import importlib
import inspect
import pickle
import re

import pytest

from gem.errors import InstallationError

NAMES = {
    "gem": "Env make make_vec print_envs register",
    "gem.__about__": "__version__",
    "gem.core": "Env EnvWrapper ObsType ActType",
    "gem.envs.registration": "EnvSpec ENV_REGISTRY register make make_vec print_envs",
    "gem.envs.math_env": "MathEnv verify_fn FORMAT_ERROR_REWARD",
    "gem.envs.math_visual_env": "MathVisualEnv",
    "gem.envs.code_env": "CodeEnv",
    "gem.envs.qa_env": "QaEnv apply_prompt",
    "gem.envs.reasoning_gym": "ReasoningGymEnv",
    "gem.envs.mcpmark": "MCPMarkEnv",
    "gem.envs.terminal.docker_env": "DockerEnv TaskConfig ContainerConfig",
    "gem.envs.webshop.webshop": "WebshopEnv",
    "gem.envs.webshop.utils": "random_idx",
    "gem.envs.webshop.preprocess": "main",
    "gem.envs.multiagent": "MultiAgentEnv",
    "gem.envs.multiagent.multi_agent_env": "MultiAgentEnv AgentSelector",
    "gem.envs.game_env.guess_the_number": "GuessTheNumberEnv",
    "gem.envs.game_env.mastermind": "MastermindEnv",
    "gem.envs.game_env.minesweeper": "MinesweeperEnv",
    "gem.envs.game_env.wordle": "WordleEnv",
    "gem.envs.game_env.fifteen_puzzle": "FifteenPuzzleEnv",
    "gem.envs.game_env.hangman": "HangmanEnv",
    "gem.envs.game_env.sudoku": "SudokuEnv",
    "gem.envs.game_env.tower_of_hanoi": "TowerofHanoiEnv",
    "gem.envs.game_env.game_2048": "Game2048Env",
    "gem.envs.game_env.word_search": "WordSearchEnv",
    "gem.envs.game_env.sokoban": "SokobanEnv",
    "gem.envs.game_env.sokoban.sokoban": "SokobanEnv",
    "gem.envs.game_env.sokoban.utils": "generate_room",
    "gem.envs.game_env.crosswords": "CrosswordsEnv",
    "gem.envs.game_env.crosswords.crosswords": "CrosswordsEnv",
    "gem.envs.game_env.wikigame": "WikiGameEnv",
    "gem.envs.game_env.wikigame.wikigame": "WikiGameEnv",
    "gem.envs.game_env.wikigame.backend": "BaseWikiTrawler MediaWikiTrawler KiwixWikiTrawler",
    "gem.envs.game_env.wikigame.dynamics": "WikiGameDynamics NoRegretsDynamics EideticDynamics "
    "OneBackDynamics FreeNavDynamics",
    "gem.envs.game_env.wikigame.rewards": "WikiGameReward",
    "gem.envs.game_env.wikigame.errors": "DisambiguationException QueryPageNotFoundException "
    "BackendFailureException",
    "gem.envs.game_env.wikigame.wikipage": "WikipediaPage",
    "gem.vector.vector_env": "VectorEnv AutoresetMode ArrayType",
    "gem.vector.sync_vector_env": "SyncVectorEnv",
    "gem.vector.async_vector_env": "AsyncVectorEnv step_reset_env",
    "gem.wrappers.observation_wrapper": "ObservationWrapper WrapperObsType maybe_add_new_line",
    "gem.wrappers.episode_tracking_wrapper": "EpisodeTrackingWrapper",
    "gem.wrappers.wrapper_factory": "WRAPPER_FACTORY TOKENIZER_REQUIRED get_wrapper_fns",
    "gem.tools.base_tool": "BaseTool",
    "gem.tools.python_code_tool": "PythonCodeTool",
    "gem.tools.search_tool": "SearchTool TIMEOUT",
    "gem.tools.mcp_tool": "MCPTool is_timeout_error",
    "gem.tools.tool_env_wrapper": "ToolEnvWrapper",
    "gem.tools.search_engine.retrieval_server": "main",
    "gem.tools.search_engine.serp_search_server": "main",
    "gem.tools.search_engine.google_search_server": "main",
    "gem.tools.mcp_server.time_mcp": "app",
    "gem.utils.constants": "TERMINAL_STATE LanguageGameReward BASE_IMPORTS BASE_LEETCODE_IMPORTS",
    "gem.utils.parsing": "extract_last_boxed_answer extract_code_from_model "
    "extract_last_tagged_answer last_boxed_only_string remove_boxed",
    "gem.utils.qa_em": "normalize_answer em_check",
    "gem.utils.sandbox": "run_python subprocess_run check_forbidden_imports DEFAULT_TIMEOUT "
    "CLI_ARG_SIZE_LIMIT ERROR_MSG_PREFIX",
    "gem.utils.math_grader": "extract_answer extract_boxed_answer last_boxed_only_string "
    "remove_boxed grade boxed_reward_fn r1_distill_qwen_math_reward_fn answer_tag_reward_fn "
    "answer_tag_reward_fn_for_orz grade_answer_mathd grade_answer_sympy is_latex_equal "
    "is_value_equal repeatness numeric_equal symbolic_equal latex_eval normalize_final_answer "
    "split_tuple count_unknown_letters_in_expr should_allow_eval are_equal_under_sympy timeout "
    "run_with_timeout_signal TimeoutException",
    "gem.utils.seeding": "set_seed np_random RNG RandomNumberGenerator",
    "gem.utils.debug": "ppprint run_and_print_episode run_and_print_episode_with_selective_step "
    "run_and_print_episode_async run_and_print_episode_with_random_selection",
}
ABSENT = {
    "gem.envs.terminal.executor": "DockerExecutor",
    "gem.envs.terminal.reward": "calculate_test_score",
    "gem.envs.webshop.utils": "SimServer SimBrowser",
}
SIGNATURES = {
    "gem.make": "(env_id, **kwargs)",
    "gem.make_vec": "(env_ids, wrappers=None, vec_kwargs=None, async_mode=False, seed=0, **kwargs)",
    "gem.print_envs": "()",
    "gem.register": "(env_id, entry_point, **kwargs)",
    "gem.core.Env": "()",
    "gem.core.Env.reset": "(self, seed=None)",
    "gem.core.Env.step": "(self, action)",
    "gem.core.Env.sample_random_action": "(self)",
    "gem.core.Env.spawn": "(self, same_state=False, **kwargs)",
    "gem.core.EnvWrapper": "(env)",
    "gem.envs.registration.EnvSpec": "(id, entry_point, kwargs=...)",
    "gem.envs.math_env.MathEnv": "(dataset_name='', split=None, dataset=None, "
    "question_key='problem', answer_key='answer', use_format_error_reward=False, seed=0, "
    "use_mp=True, **kwargs)",
    "gem.envs.math_env.MathEnv.reset": "(self, seed=None, idx=None)",
    "gem.envs.math_env.MathEnv.check_correct": "(model_answer, gt_answer)",
    "gem.envs.math_env.MathEnv.spawn": "(self, same_state=False, **kwargs)",
    "gem.envs.math_visual_env.MathVisualEnv": "(dataset_name='', split=None, dataset=None, "
    "image_key='images', question_key='problem', answer_key='answer', seed=0, use_mp=True, "
    "**kwargs)",
    "gem.envs.code_env.CodeEnv": "(dataset_name='', split=None, dataset=None, "
    "question_key='problem', test_key='tests', seed=0, max_workers=5, max_tests=12, "
    "verbose=False, sandbox_type='none', **kwargs)",
    "gem.envs.code_env.CodeEnv._check_correct": "(self, model_code)",
    "gem.envs.qa_env.QaEnv": "(dataset_name='', split=None, dataset=None, "
    "question_key='question', answer_key='answer', seed=0, extract_boxed=False, "
    "load_from_cache_file=True, **kwargs)",
    "gem.envs.qa_env.QaEnv.check_correct": "(model_answer, gt_answer)",
    "gem.envs.qa_env.apply_prompt": "(example, question_key='question')",
    "gem.envs.reasoning_gym.ReasoningGymEnv": "(name, size=500, seed=42, **kwargs)",
    "gem.envs.reasoning_gym.ReasoningGymEnv.spawn": "(self, same_state=False, **kwargs)",
    "gem.envs.mcpmark.MCPMarkEnv": "(mcp_service, tasks='all', seed=42, **kwargs)",
    "gem.envs.terminal.docker_env.DockerEnv": "(task_configs, container_config)",
    "gem.envs.terminal.docker_env.TaskConfig": "(task_name, task_path, test_weights, "
    "max_test_timeout_sec=300.0, max_retry=5)",
    "gem.envs.terminal.docker_env.ContainerConfig": "(no_rebuild=False, timeout=600)",
    "gem.envs.webshop.webshop.WebshopEnv": "(observation_mode='text', split='train', "
    "max_turns=15, show_attrs=False, session=None, session_prefix=None, error_tolerance=0, "
    "format_error_reward=0, **kwargs)",
    "gem.envs.webshop.webshop.WebshopEnv.reset": "(self, seed=None, session=None, "
    "instruction_text=None)",
    "gem.envs.webshop.preprocess.main": "(mode='all')",
    "gem.envs.game_env.guess_the_number.GuessTheNumberEnv": "(min_number=1, max_number=20, "
    "max_turns=20, **kwargs)",
    "gem.envs.game_env.mastermind.MastermindEnv": "(code_length=4, num_numbers=6, "
    "duplicate_numbers=False, max_turns=20, **kwargs)",
    "gem.envs.game_env.minesweeper.MinesweeperEnv": "(rows=8, cols=8, num_mines=10, "
    "max_turns=20, **kwargs)",
    "gem.envs.game_env.wordle.WordleEnv": "(word_length=5, only_real_words=True, max_turns=20, "
    "**kwargs)",
    "gem.envs.game_env.fifteen_puzzle.FifteenPuzzleEnv": "(max_turns=20, num_rows=2, "
    "init_algo='monte_carlo', mc_rand_moves=100, **kwargs)",
    "gem.envs.game_env.hangman.HangmanEnv": "(word_length=5, hardcore=False, max_turns=20, "
    "**kwargs)",
    "gem.envs.game_env.sudoku.SudokuEnv": "(clues=30, max_turns=100, scale=9, **kwargs)",
    "gem.envs.game_env.tower_of_hanoi.TowerofHanoiEnv": "(num_disks=3, max_turns=100, **kwargs)",
    "gem.envs.game_env.game_2048.Game2048Env": "(target_tile=2048, max_turns=1000, board_size=4, "
    "**kwargs)",
    "gem.envs.game_env.word_search.WordSearchEnv": "(hardcore=False, max_turns=20, num_words=5, "
    "**kwargs)",
    "gem.envs.game_env.sokoban.SokobanEnv": "(dim_room=(6, 6), max_turns=100, num_boxes=3, "
    "**kwargs)",
    "gem.envs.game_env.sokoban.utils.generate_room": "(dim=(13, 13), p_change_directions=0.35, "
    "num_steps=25, num_boxes=3, tries=1000, second_player=False, seed=None)",
    "gem.envs.game_env.crosswords.CrosswordsEnv": "(hardcore=False, max_turns=100, num_words=5, "
    "**kwargs)",
    # The default of gem-llm is backend='mw', the live Wikipedia.
    "gem.envs.game_env.wikigame.WikiGameEnv": "(max_turns=10, backend='world', "
    "trawler_kwargs=None, page_summary_length=(100, 'characters'), variant='noregrets', **kwargs)",
    "gem.envs.game_env.wikigame.backend.MediaWikiTrawler": "("
    "url='https://en.wikipedia.org/w/api.php', query_delay_ms=25, max_query_attempts=5, "
    "query_use_cache=False)",
    "gem.envs.game_env.wikigame.backend.KiwixWikiTrawler": "(url='http://localhost:8080', "
    "zimfile='wikipedia_en_simple_all_nopic_2025-09', query_delay_ms=25, max_query_attempts=5, "
    "query_use_cache=False)",
    "gem.envs.game_env.wikigame.wikipage.WikipediaPage": "(page_id, title, content, links=...)",
    "gem.vector.sync_vector_env.SyncVectorEnv": "(env_ids, env_fns, "
    "autoreset_mode=AutoresetMode.SAME_STEP)",
    "gem.vector.async_vector_env.AsyncVectorEnv": "(env_ids, env_fns, "
    "autoreset_mode=AutoresetMode.SAME_STEP)",
    "gem.vector.async_vector_env.step_reset_env": "(action, env, autoreset_mode, autoreset_env)",
    "gem.vector.vector_env.VectorEnv.reset": "(self, seed=None, **kwargs)",
    "gem.vector.vector_env.VectorEnv.step": "(self, actions)",
    "gem.wrappers.observation_wrapper.ObservationWrapper": "(env, include_action=True, "
    "include_chat_template=True, apply_chat_template_on_reset=False, max_history_length=None, "
    "tokenizer=None)",
    "gem.wrappers.observation_wrapper.ObservationWrapper.reset": "(self, seed=None, **kwargs)",
    "gem.wrappers.observation_wrapper.maybe_add_new_line": "(text)",
    "gem.wrappers.episode_tracking_wrapper.EpisodeTrackingWrapper": "(env)",
    "gem.wrappers.wrapper_factory.get_wrapper_fns": "(wrappers, tokenizer=None)",
    "gem.tools.base_tool.BaseTool": "(num_workers=1)",
    "gem.tools.base_tool.BaseTool.execute_action": "(self, action)",
    "gem.tools.base_tool.BaseTool.instruction_string": "(self)",
    "gem.tools.python_code_tool.PythonCodeTool": "(timeout=5, sandbox_type='none', "
    "keep_error_last_line=False)",
    "gem.tools.python_code_tool.PythonCodeTool._parse_action": "(self, action)",
    "gem.tools.search_tool.SearchTool": "(num_workers=1, search_url=None, topk=3, timeout=5)",
    "gem.tools.mcp_tool.MCPTool": "(config, auth=None, headers=None, log_handler=None, "
    "progress_handler=None, sampling_handler=None, max_retries=3, delay_between_retries=1.0, "
    "execution_timeout=30.0, validate_on_init=True, num_workers=1)",
    "gem.tools.mcp_tool.MCPTool.from_url": "(url, auth=None, headers=None, **kwargs)",
    "gem.tools.mcp_tool.MCPTool.from_config_file": "(config_path, **kwargs)",
    "gem.tools.mcp_tool.MCPTool.from_local_command": "(server_params, name='default', **kwargs)",
    "gem.tools.mcp_tool.MCPTool.from_multi_server": "(servers, **kwargs)",
    "gem.tools.mcp_tool.MCPTool.reconfigure": "(self, new_config, auth=None, headers=None)",
    "gem.tools.mcp_tool.MCPTool.get_available_tools": "(self)",
    "gem.tools.mcp_tool.MCPTool.close": "(self)",
    "gem.tools.mcp_tool.is_timeout_error": "(error)",
    "gem.tools.tool_env_wrapper.ToolEnvWrapper": "(env, tools, tool_reward=0.0, "
    "tool_success_reward=0.0, tool_execute_error_reward=0.0, max_tool_uses=10)",
    "gem.tools.tool_env_wrapper.ToolEnvWrapper.reset": "(self, seed=None, **kwargs)",
    "gem.tools.tool_env_wrapper.ToolEnvWrapper.step": "(self, action, verbose=False)",
    "gem.utils.parsing.extract_last_boxed_answer": "(solution)",
    "gem.utils.parsing.extract_code_from_model": "(model_response)",
    "gem.utils.parsing.extract_last_tagged_answer": "(model_response)",
    "gem.utils.parsing.last_boxed_only_string": "(string)",
    "gem.utils.parsing.remove_boxed": "(s)",
    "gem.utils.qa_em.normalize_answer": "(s)",
    "gem.utils.qa_em.em_check": "(prediction, golden_answers)",
    "gem.utils.sandbox.run_python": "(code, sandbox_type, stdin=None, timeout=10)",
    "gem.utils.sandbox.subprocess_run": "(code, cmd_list, sandbox_type, stdin=None, timeout=10)",
    "gem.utils.sandbox.check_forbidden_imports": "(code)",
    "gem.utils.math_grader.extract_answer": "(passage)",
    "gem.utils.math_grader.extract_boxed_answer": "(solution)",
    "gem.utils.math_grader.grade": "(model_answer, gt_answer, fast=True)",
    **{
        f"gem.utils.math_grader.{name}": "(model_response, gt_answer, fast=False, "
        "correct_reward=1.0, incorrect_reward=0.0)"
        for name in (
            "boxed_reward_fn",
            "r1_distill_qwen_math_reward_fn",
            "answer_tag_reward_fn",
            "answer_tag_reward_fn_for_orz",
        )
    },
    **{
        f"gem.utils.math_grader.{name}": "(given_answer, ground_truth)"
        for name in (
            "grade_answer_mathd",
            "grade_answer_sympy",
            "is_latex_equal",
            "is_value_equal",
        )
    },
    "gem.utils.math_grader.repeatness": "(s)",
    "gem.utils.math_grader.numeric_equal": "(prediction, reference)",
    "gem.utils.math_grader.symbolic_equal": "(a, b)",
    "gem.utils.math_grader.latex_eval": "(latex)",
    "gem.utils.math_grader.normalize_final_answer": "(final_answer)",
    "gem.utils.math_grader.split_tuple": "(expr)",
    "gem.utils.math_grader.count_unknown_letters_in_expr": "(expr)",
    "gem.utils.math_grader.should_allow_eval": "(expr)",
    "gem.utils.math_grader.are_equal_under_sympy": "(ground_truth_normalized, given_normalized)",
    "gem.utils.math_grader.timeout": "(seconds=1, error_message='Timeout')",
    "gem.utils.math_grader.run_with_timeout_signal": "(func, args=(), kwargs=None, "
    "timeout_seconds=5)",
    "gem.utils.seeding.set_seed": "(seed=None)",
    "gem.utils.seeding.np_random": "(seed=None)",
    "gem.utils.debug.ppprint": "(x)",
    **{
        f"gem.utils.debug.run_and_print_episode{name}": "(env, policy, ignore_done=False, "
        "max_steps=1000000000.0)"
        for name in ("", "_async", "_with_selective_step")
    },
}


def pairs(table):
    return [(module, name) for module, names in table.items() for name in names.split()]


@pytest.mark.slow
def test_every_name_can_be_imported_from_its_path(subtests):
    for module, name in pairs(NAMES):
        with subtests.test(f"{module}.{name}"):
            assert hasattr(importlib.import_module(module), name)


def test_a_name_that_is_not_in_this_release_says_so(subtests):
    for module, name in pairs(ABSENT):
        with subtests.test(f"{module}.{name}"):
            with pytest.raises(InstallationError, match="not in this release") as raised:
                getattr(importlib.import_module(module), name)
            assert isinstance(raised.value, ImportError)
            assert f"{module}.{name}" in str(raised.value)


def found(path):
    module, _, rest = path, "", ""
    while True:
        try:
            target = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            rest = f"{name}.{rest}" if rest else name
            continue
        for name in rest.split("."):
            target = getattr(target, name)
        return target


def written(target):
    """Return a signature as the table writes it: without annotations and what is only ours."""
    parts = []
    for parameter in inspect.signature(target).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            parts.append("**kwargs")
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            default = parameter.default
            text = "..." if "factory" in repr(default) else str(default)
            text = repr(default) if isinstance(default, str) else text
            parts.append(
                parameter.name if default is parameter.empty else f"{parameter.name}={text}"
            )
    return f"({', '.join(parts)})"


@pytest.mark.slow
def test_parameters_are_those_of_gem_llm(subtests):
    for path, theirs in SIGNATURES.items():
        with subtests.test(path):
            ours = written(found(path))
            if path.endswith(".apply_prompt"):
                ours = re.sub(r", prompt=.*(?=\)$)", "", ours, flags=re.DOTALL)
            assert ours == theirs


def test_the_package_says_what_it_exports():
    import gem

    assert (
        {"Env", "make", "make_vec", "print_envs", "register"} <= set(gem.__all__) <= set(dir(gem))
    )
    with pytest.raises(AttributeError, match="no attribute 'mak'"):
        _ = gem.mak


def test_games_are_pickled_by_the_path_of_gem_llm():
    from gem.envs.game_env.crosswords import CrosswordsEnv

    assert CrosswordsEnv.__module__ == "gem.envs.game_env.crosswords.crosswords"
    assert pickle.loads(pickle.dumps(CrosswordsEnv)) is CrosswordsEnv


def test_a_star_import_of_a_game_brings_its_class():
    names = {}
    exec("from gem.envs.game_env.wordle import *", names)
    assert "WordleEnv" in names


def test_absent_modules_have_no_other_names():
    from gem.envs.terminal import executor
    from gem.envs.webshop import utils

    for module in (executor, utils):
        with pytest.raises(AttributeError, match="no attribute 'Shop'"):
            _ = module.Shop
