"""Chat templates that keep the tokens of earlier turns, and templates that do not."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selection import thorough

from gem_agents.template_checks import (
    CONVERSATIONS,
    Conversation,
    check_conversation,
    check_template,
)
from gem_rollout.models.tiny_model import CHAT_TEMPLATE, make_tiny_tokenizer
from gem_rollout.tokens.transcript import Transcript

NAMES = {one.name for one in CONVERSATIONS}
TURNS = {"1 turn", "2 turns", "3 turns", "4 turns", "5 turns", "6 turns"}
THINK = "reasoning in the text"
CALLS = {"calls as messages", "text and calls as messages"}

PLAIN = """\
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + SAID + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
"""Renders everything except calls and tools."""
TRIMS = PLAIN.replace("SAID", "(message.content or '') | trim")
FORGETS_THOUGHTS = PLAIN.replace(
    "SAID",
    "(message.content.split('</think>')[-1] | trim if '</think>' in message.content "
    "and not loop.last else message.content)",
)
SHOWS_TOOLS = "{% if tools %}{{ tools | tojson }}{% endif %}"
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}"
MOVES_SYSTEM = """\
{%- for message in messages if message.role != 'system' %}
{%- if loop.last %}{% for one in messages if one.role == 'system' %}{{ one.content }}{% endfor %}
{%- endif %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"""
REWRITES_CALLS = CHAT_TEMPLATE.replace(
    "{{- message.content or '' }}",
    "{% if message.tool_calls and not loop.last %}{{ message.content + '(called)' }}"
    "{% else %}{{ message.content or '' }}{% endif %}",
)
NO_END = """\
{%- for message in messages %}{{ message.role + ': ' + (message.content or '') + '\\n\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"""
"""No token ends a message, so the end of a reply may merge with the text after it."""


def broken(template, **variables):
    findings = check_template(make_tiny_tokenizer(chat_template=template), **variables)
    assert {one.name for one in findings} == NAMES
    return {one.name for one in findings if one.status == "breaks"}


def finding_of(template, name, **options):
    tokenizer = make_tiny_tokenizer(chat_template=template, **options)
    [conversation] = [one for one in CONVERSATIONS if one.name == name]
    return check_conversation(tokenizer, conversation)


class TestTemplates:
    @pytest.mark.slow
    def test_a_template_that_renders_all_as_it_is_extends(self):
        assert broken(CHAT_TEMPLATE) == set()

    @pytest.mark.slow
    def test_a_template_that_trims_breaks_texts_with_spaces_at_the_ends(self):
        assert broken(TRIMS) == {
            "spaces at the end",
            "lines at the end",
            "spaces at the beginning",
            "code",
        }

    @pytest.mark.slow
    def test_a_template_that_drops_reasoning_breaks_conversations_with_reasoning_only(self):
        assert broken(FORGETS_THOUGHTS) == {THINK}
        problem = finding_of(FORGETS_THOUGHTS, THINK).problem
        assert (problem.turn, problem.cause) == (2, "text")
        assert problem.expected.startswith("<")
        assert problem.found.startswith("1")

    def test_a_template_that_moves_the_system_message_breaks_conversations_with_one(self):
        assert broken(MOVES_SYSTEM) == {"system message"}
        assert broken(SHOWS_TOOLS + MOVES_SYSTEM) == {
            "system message",
            "tools and a system message",
        }

    def test_a_template_that_renders_no_tools_ignores_them(self):
        template = PLAIN.replace("SAID", "message.content")
        found = check_template(make_tiny_tokenizer(chat_template=template))
        with_tools = {one.name for one in CONVERSATIONS if one.tools}
        assert {one.name for one in found if one.status == "ignores tools"} == with_tools
        assert finding_of(SHOWS_TOOLS + template, "tools").status == "ok"

    def test_a_template_that_cannot_do_without_tools_shows_them(self):
        needs = "{% for tool in tools %}{{ tool | tojson }}{% endfor %}"
        template = needs + PLAIN.replace("SAID", "message.content")
        assert finding_of(template, "tools").status == "ok"

    @pytest.mark.slow
    def test_a_template_that_rewrites_calls_breaks_conversations_with_calls(self):
        assert broken(REWRITES_CALLS) == CALLS

    def test_a_template_that_takes_no_system_message_refuses_it(self):
        finding = finding_of(NO_SYSTEM + CHAT_TEMPLATE, "system message")
        assert (finding.status, finding.problem) == ("refused", None)
        assert "no system" in finding.message

    @pytest.mark.slow
    def test_variables_reach_the_template(self):
        template = "{% if keep %}" + CHAT_TEMPLATE + "{% else %}" + TRIMS + "{% endif %}"
        assert broken(template, keep=True) == set()
        assert broken(template, keep=False)

    def test_merges_over_the_end_of_a_reply_are_found(self):
        """With ``\\n\\n\\n`` in its vocabulary, a reply's last line merges with the template's."""
        finding = finding_of(NO_END, "lines at the end", texts=["a\n\n\n", "\n\n\nb"] * 50)
        assert (finding.status, finding.problem.cause) == ("breaks", "tokens")
        assert "\n" in finding.problem.expected
        assert finding.problem.expected_ids != finding.problem.found_ids
        assert finding_of(NO_END, "lines at the end", size=259).status == "ok"


def spaced_tokenizer():
    """A tokenizer that adds a space at the beginning of a text, like that of Llama 2."""
    import tokenizers
    import transformers

    unknown = "<unk>"
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token=unknown))
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(prepend_scheme="first")
    bpe.decoder = tokenizers.decoders.Metaspace(prepend_scheme="first")
    special = [unknown, "<|im_start|>", "<|im_end|>"]
    letters = [character for one in CONVERSATIONS for m in one.messages for character in str(m)]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600, special_tokens=special, initial_alphabet=letters, show_progress=False
    )
    bpe.train_from_iterator(["I guess 1: boxed", "system user assistant"] * 9, trainer)
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token=special[2], unk_token=unknown
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


class TestSpacesThatTokenizersAdd:
    def test_spaces_that_a_tokenizer_adds_break_no_template(self):
        tokenizer = spaced_tokenizer()
        assert tokenizer.tokenize("I")[0] != tokenizer.tokenize("<|im_end|>I")[1]
        found = {one.name: one.status for one in check_template(tokenizer)}
        assert all(found[name] == "ok" for name in TURNS), found

    def test_a_transcript_has_the_tokens_of_the_whole_text(self):
        tokenizer = spaced_tokenizer()
        transcript, messages = Transcript(tokenizer), [{"role": "user", "content": "x"}]
        for number in range(4):
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            prompt = transcript.prompt(text)
            assert prompt.extends == (number > 0)
            assert prompt.ids == tokenizer.encode(text, add_special_tokens=False)
            reply = f"I guess {number}"
            whole = tokenizer.encode(text + reply + "<|im_end|>", add_special_tokens=False)
            transcript.add_reply(whole[len(prompt.ids) :])
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": "y"}]


texts = st.text(st.sampled_from(["a", "b", " ", "\n", "é", "1"]), max_size=12)


@pytest.fixture(scope="module")
def made():
    """Tokenizers, and whether prompts always extend with their templates."""
    templates = ((CHAT_TEMPLATE, True), (TRIMS, False))
    return [(make_tiny_tokenizer(chat_template=one), always) for one, always in templates]


class TestProperties:
    @pytest.mark.slow
    @given(replies=st.lists(texts, min_size=1, max_size=4), words=st.lists(texts, max_size=8))
    @settings(max_examples=30 if thorough() else 10)
    def test_ok_means_that_prompts_begin_with_what_was_sampled(self, replies, words):
        """The finding agrees with tokens that are computed here, for any tokenizer and replies."""
        tokenizer = make_tiny_tokenizer(chat_template=NO_END, texts=words * 5, size=300)
        messages = [{"role": "user", "content": "x"}]
        extends, before = True, []
        for reply in replies:
            text = tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
            ids = tokenizer.encode(text)
            extends = extends and ids[: len(before)] == before
            before = ids + tokenizer.encode(reply)
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": "y"}]
        text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        extends = extends and tokenizer.encode(text)[: len(before)] == before
        finding = check_conversation(tokenizer, Conversation("any", messages))
        assert (finding.status == "ok") == extends

    @pytest.mark.slow
    @given(replies=st.lists(texts, min_size=1, max_size=4))
    @settings(max_examples=60 if thorough() else 20)
    def test_a_transcript_keeps_tokens_and_says_when_it_cannot(self, made, replies):
        """Replies sampled token by token are preserved, and all tokens decode to the prompt."""
        for tokenizer, always in made:
            transcript = Transcript(tokenizer)
            messages = [{"role": "user", "content": "x"}]
            before = []
            for reply in replies:
                text = tokenizer.apply_chat_template(
                    messages, tokenize=False, add_generation_prompt=True
                )
                prompt = transcript.prompt(text)
                assert transcript.decode(prompt.ids) == text
                if prompt.extends:
                    assert prompt.ids == before + prompt.new
                assert prompt.extends or not (always and before)
                # Characters one by one: not what the tokenizer would have chosen.
                sampled = [one for character in reply for one in tokenizer.encode(character)]
                sampled += [tokenizer.eos_token_id]
                transcript.add_reply(sampled)
                before = prompt.ids + sampled
                messages += [
                    {"role": "assistant", "content": reply},
                    {"role": "user", "content": "y"},
                ]


@pytest.mark.slow
class TestCommand:
    @pytest.fixture
    def folder(self, tmp_path):
        def save(template):
            make_tiny_tokenizer(chat_template=template).save_pretrained(tmp_path / "model")
            return str(tmp_path / "model")

        return save

    def test_check_template_passes_a_template_that_extends(self, run_command, folder):
        printed = run_command("check-template", folder(CHAT_TEMPLATE))
        assert f"{len(CONVERSATIONS)} ok, 0 break" in printed
        assert "renders its end" in printed

    def test_check_template_tells_of_templates_that_need_the_whole_chat(self, run_command, folder):
        assert "renders the whole chat" in run_command(
            "check-template", folder(CHAT_TEMPLATE + "{{ messages | length }}"), status=1
        )

    def test_check_template_says_that_a_template_ignores_tools(self, run_command, folder):
        printed = run_command("check-template", folder(PLAIN.replace("SAID", "message.content")))
        assert "tools and a system message  ignores tools" in printed
        assert f"{sum(one.tools is not None for one in CONVERSATIONS)} with tools" in printed

    def test_check_template_explains_a_template_that_breaks(self, run_command, folder):
        printed = run_command("check-template", folder(FORGETS_THOUGHTS), status=1)
        assert "1 break" in printed
        assert "turn 2" in printed
        assert "before: '<" in printed

    def test_the_json_of_check_template_has_the_tokens(self, run_command, folder, tmp_path):
        (tmp_path / "own.jinja").write_text(TRIMS)
        arguments = ("chat_template=own.jinja", "template.keep=true", "--format=json")
        printed = run_command("check-template", folder(CHAT_TEMPLATE), *arguments, status=1)
        found = {one["name"]: one for one in json.loads(printed)}
        assert set(found) == NAMES
        problem = found["lines at the end"]["problem"]
        assert problem["expected_ids"] != problem["found_ids"]

    def test_check_template_of_a_missing_model_is_an_error(self, run_command, tmp_path):
        run_command("check-template", str(tmp_path / "none"), status=1)
