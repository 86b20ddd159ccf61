"""Tests for `turnkeep show`."""

import json
from pathlib import Path

import pytest
from rich.text import Text

import turnkeep
from tests.cli.running import EXAMPLE, chat, run, save


def rows(output: str) -> dict[str, str]:
    """The lines of the picture that begin with a turn's number."""
    found = {}
    for line in output.splitlines():
        number = line[:4].strip()
        if number.isdigit():
            found[number] = line
    return found


def test_one_bar_a_turn() -> None:
    """The preamble is turn 0; every turn has its tokens, steps and question."""
    result = run("show", EXAMPLE)

    assert result.exit_code == 0, result.stderr
    lines = rows(result.stdout)
    assert list(lines) == [str(n) for n in range(10)]
    assert "The nightly build was red" in lines["2"]
    assert "waits for run_nightly" in lines["4"]
    assert "tool definitions" in result.stdout
    assert "45 messages · 9 turns" in result.stdout


def test_bars_are_to_scale() -> None:
    """A bar's length is its tokens' share of the largest turn."""
    lines = rows(run("show", EXAMPLE, "--width", "120").stdout)

    def tokens(line: str) -> int:
        return int(line[5:13].replace(",", ""))

    largest = max(lines.values(), key=tokens)
    for line in lines.values():
        expected = largest.count("█") * tokens(line) / tokens(largest)
        assert abs(line.count("█") - expected) <= 1


def test_the_tokens_add_up() -> None:
    """Turns, tools and overhead are the total that `count()` gives."""
    report = json.loads(run("show", EXAMPLE, "--json").stdout)
    counted = turnkeep.count(json.loads(EXAMPLE.read_text()))

    messages = sum(message["tokens"] for message in report["messages"])
    assert report["tokens"] == counted.total
    assert messages + report["tools"] + report["overhead"] == counted.total
    assert report["turns"] == 9
    assert report["plan"] is None


def test_with_a_budget_it_says_what_would_go_and_why() -> None:
    """Dropped turns are drawn otherwise and say their cause; pins are marked."""
    result = run("show", EXAMPLE, "-n", "3500", "--pin", "1")

    lines = rows(result.stdout)
    assert "◆" in lines["1"]
    assert "dropped (age)" in lines["2"]
    assert "░" in lines["2"]
    assert "█" not in lines["2"]
    assert "% of the budget" in result.stdout
    assert "drops" in result.stdout
    assert "◆ pinned  ◷ pending" in result.stdout


def test_a_turn_cut_inside_shows_how_much() -> None:
    """Of a long loop the oldest steps go: the bar shows both parts."""
    loop = [{"role": "user", "content": "Count to five."}]
    for nth in range(5):
        call = {"id": f"c{nth}", "type": "function"}
        call["function"] = {"name": "next", "arguments": "{}"}  # type: ignore[assignment]
        loop.append({"role": "assistant", "content": None, "tool_calls": [call]})  # type: ignore[dict-item]
        loop.append(
            {"role": "tool", "tool_call_id": f"c{nth}", "content": "go on " * 60}
        )

    result = run("show", "-", "-n", "300", "--steps", stdin=json.dumps(loop))

    assert "dropped 3 of 6 steps (age)" in result.stdout
    assert {"█", "░"} <= set(rows(result.stdout)["1"])
    assert ".6" in result.stdout


def test_the_plan_in_json_agrees_with_the_library() -> None:
    """Every message's fate is the plan's decision."""
    report = json.loads(run("show", EXAMPLE, "-n", "3500", "--json").stdout)
    plan = turnkeep.plan(json.loads(EXAMPLE.read_text()), max_tokens=3500)

    assert report["plan"]["tokens"] == plan.tokens
    assert report["tokens"] == plan.tokens_before
    assert [m["action"] for m in report["messages"]] == [
        d.action for d in plan.decisions
    ]
    assert [m["tokens"] for m in report["messages"]] == [
        d.tokens for d in plan.decisions
    ]


def test_does_not_fit_still_draws() -> None:
    """The picture helps to see why; the code says that it does not fit."""
    result = run("show", EXAMPLE, "-n", "100")

    assert result.exit_code == 3
    assert len(rows(result.stdout)) == 10
    assert "Set --max-tokens to at least" in result.stderr


def test_does_not_fit_in_json() -> None:
    """For programs it is the error alone."""
    result = run("show", EXAMPLE, "-n", "100", "--json")

    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"]["type"] == "BudgetExceededError"


def test_steps_of_one_turn() -> None:
    """`--turn` shows that turn alone, with its steps."""
    result = run("show", EXAMPLE, "--turn", "2")

    assert list(rows(result.stdout)) == ["2"]
    assert ".3" in result.stdout
    assert "read_log \N{MULTIPLICATION SIGN}2" in result.stdout
    assert "9 more turns" in result.stdout


def test_only_what_is_dropped() -> None:
    """`--dropped` leaves out turns that stay whole."""
    result = run("show", EXAMPLE, "-n", "3500", "--pin", "1", "--dropped")

    assert list(rows(result.stdout)) == ["2", "3", "5"]


@pytest.mark.parametrize("width", [20, 30, 40, 52, 60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """From the narrowest terminal on, the picture's lines never wrap."""
    result = run("show", EXAMPLE, "--width", width, "--steps")

    lines = list(rows(result.stdout).values())
    assert len(lines) == 10
    assert max(Text(line).cell_len for line in lines) <= width


def test_no_colour_when_piped() -> None:
    """Escape sequences are for terminals."""
    assert "\x1b" not in run("show", EXAMPLE, "-n", "3500").stdout


def test_a_terminal_gets_colours_and_their_key() -> None:
    """What tokens are spent on has a colour, and the last line explains it."""
    terminal = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}

    result = run("show", EXAMPLE, "-n", "3500", env=terminal)

    last = result.stdout.splitlines()[-1]
    assert "\x1b[" in result.stdout
    for kind in ("system", "user", "assistant", "calls", "results", "tools"):
        assert kind in last


def test_pins_by_id_and_unknown_pins_without_a_budget() -> None:
    """Pins are marked even when nothing has to go; a wrong one is an error."""
    history = chat(2)
    history[1]["id"] = "rule"

    marked = run("show", "-", "--pin", "rule", stdin=json.dumps(history))
    wrong = run("show", "-", "--pin", "7-up", stdin=json.dumps(history))

    assert "◆" in rows(marked.stdout)["1"]
    assert wrong.exit_code == 2
    assert "no message '7-up' in this history @ --pin" in wrong.stderr


def test_a_chat_cannot_send_escape_sequences(tmp_path: Path) -> None:
    """What a message holds never reaches the terminal as a command."""
    hostile = "\x1b]0;owned\x07\x1b[31m red \x9b2J [bold]not markup[/]"
    path = save(tmp_path / "x\x1b[1m.json", [{"role": "user", "content": hostile}])

    result = run("show", path, "--width", "160")

    assert not {"\x1b", "\x07", "\x9b"} & set(result.stdout)
    assert "[bold]not markup[/]" in result.stdout


def test_wide_characters_keep_the_columns() -> None:
    """Chinese takes two cells a character; the label is cut to its cells."""
    history = [{"role": "user", "content": "重要的指示" * 40}]

    result = run("show", "-", "--width", "60", stdin=json.dumps(history))

    assert max(Text(line).cell_len for line in rows(result.stdout).values()) <= 60


def test_an_empty_list() -> None:
    """Nothing to draw is no error."""
    result = run("show", "-", "--format", "openai", stdin="[]")

    assert result.exit_code == 0, result.stderr
    assert "0 messages · 0 turns" in result.stdout


def test_shortened_results_are_drawn_as_edited() -> None:
    """A result that is sent shorter has both parts in its bar, and its cause."""
    strategy = "truncate-tool-results:max_tokens=300"

    result = run("show", EXAMPLE, "-n", "5500", "--strategy", strategy)

    shortened = rows(result.stdout)["2"]
    assert {"▓", "░"} <= set(shortened)
    assert "shortened" in shortened
    assert "edits" in result.stdout
    assert "▓ edited" in result.stdout


def test_repairs_are_drawn() -> None:
    """An orphan is left out, with its cause."""
    history = chat(3)
    history[2:2] = [{"role": "tool", "tool_call_id": "nobody", "content": "orphan"}]

    result = run("show", "-", "-n", "8k", stdin=json.dumps(history))

    assert "(repair)" in result.stdout


def test_a_line_stands_above_what_fits_whole() -> None:
    """The newest turns below it fit the budget, less the reserve, with one more not."""
    result = run("show", EXAMPLE, "-n", "3500", "--reserve", "300")

    lines = result.stdout.splitlines()
    (at,) = [n for n, line in enumerate(lines) if "3,200 tokens from here" in line]
    below = list(rows("\n".join(lines[at:])))
    told = json.loads(run("show", EXAMPLE, "--json").stdout)
    tokens = dict.fromkeys(range(10), 0)
    for message in told["messages"]:
        tokens[message["turn"]] += message["tokens"]
    spent = told["tools"] + told["overhead"] + sum(tokens[int(n)] for n in below)
    assert spent <= 3_200 < spent + tokens[int(below[0]) - 1]


@pytest.mark.parametrize("budget", [90_000, 1_500])
def test_no_line_where_all_or_nothing_fits(budget: int) -> None:
    """It would say nothing."""
    result = run("show", EXAMPLE, "-n", budget, "--no-pending")

    assert "tokens from here" not in result.stdout or budget == 1_500


def test_only_turns_that_use_a_tool_with_their_steps() -> None:
    """Calls and results of that tool; everything else is counted, not shown."""
    result = run("show", EXAMPLE, "--tool", "read_file", "--width", "140")

    assert list(rows(result.stdout)) == ["2", "5"]
    steps = [line for line in result.stdout.splitlines() if line[:4].strip()[:1] == "."]
    assert steps
    assert all("read_file" in step for step in steps)
    assert "8 more turns" in result.stdout


def test_json_has_only_the_chosen_messages() -> None:
    """And the figures of the whole."""
    whole = json.loads(run("show", EXAMPLE, "--json").stdout)
    some = json.loads(run("show", EXAMPLE, "--json", "--tool", "read_file").stdout)
    turn = json.loads(run("show", EXAMPLE, "--json", "--turn", "5").stdout)

    assert some["tokens"] == whole["tokens"]
    assert 0 < len(some["messages"]) < len(whole["messages"])
    assert all("read_file" in message["tools"] for message in some["messages"])
    assert {message["turn"] for message in turn["messages"]} == {5}


def test_page_by_page() -> None:
    """What a pager gets is what would have been printed."""
    plain = run("show", EXAMPLE, "-n", "3500")
    paged = run("show", EXAMPLE, "-n", "3500", "--pager")

    assert paged.exit_code == 0, paged.stderr
    assert paged.stdout.split() == plain.stdout.split()


@pytest.mark.parametrize("state", ["pending", "interim"])
def test_a_call_with_a_placeholder_is_pending_until_its_result(state: str) -> None:
    """What was answered for the time being is still waited for; a result ends that."""
    call = {"type": "tool_call", "id": "call_1", "name": "build", "arguments": {}}
    placeholder = {"type": "tool_result", "tool_call_id": "call_1", "content": "later"}
    messages = [
        {"id": "m1", "role": "user", "content": "go"},
        {"id": "m2", "role": "assistant", "content": [call]},
        {"id": "m3", "role": "tool_result", "content": [{**placeholder, state: True}]},
        {"id": "m4", "role": "tool_result", "content": [placeholder]},
    ]
    waiting = json.dumps({"turnkeep": 1, "messages": messages[:3]})
    answered = json.dumps({"turnkeep": 1, "messages": messages})

    drawn = run("show", "-", stdin=waiting)
    told = json.loads(run("show", "-", "--json", stdin=waiting).stdout)
    done = run("show", "-", stdin=answered)

    assert "◷" in rows(drawn.stdout)["1"]
    assert "waits for build" in rows(drawn.stdout)["1"]
    assert "◷ pending" in drawn.stdout.splitlines()[-1]
    assert [m["pending"] for m in told["messages"]] == [[], ["build"], []]
    assert "◷" not in done.stdout


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (["--turn", "77"], "no turn 77; there are 0 to 9 @ --turn"),
        (["--turn", "5", "--turn", "-1"], "no turn -1; there are 0 to 9 @ --turn"),
        (["--tool", "nope"], "no turn uses the tool 'nope'; used are edit_file, "),
    ],
)
def test_what_is_not_there_cannot_be_picked(
    choice: list[str], words: str, as_json: list[str]
) -> None:
    """An empty picture would look like an answer; what there is, is named."""
    result = run("show", EXAMPLE, *choice, *as_json)

    assert result.exit_code == 2
    assert words in result.stderr


def test_nothing_can_be_picked_from_nothing() -> None:
    """Nor a tool from a chat without any."""
    turn = run("show", "-", "--format", "openai", "--turn", "1", stdin="[]")
    tool = run("show", "-", "--tool", "f", stdin=json.dumps(chat(1)))
    late = run("show", "-", "--turn", "0", stdin=json.dumps(chat(1)[1:]))

    assert "no turn 1; there are none" in turn.stderr
    assert "no turn uses the tool 'f'; none is used" in tool.stderr
    assert "no turn 0; there are 1 to 2" in late.stderr


def test_one_is_said_as_one() -> None:
    """A message, a turn; nothing kept has no causes behind it."""
    one = json.dumps([{"role": "user", "content": "hi"}])

    shown = run("show", "-", stdin=one)
    rest = run("show", "-", "--turn", "1", stdin=json.dumps(chat(1)[1:]))
    nothing = run("show", "-", "-n", "100", "--format", "openai", stdin="[]")

    assert " 1 message · 1 turn · " in shown.stdout
    assert "… 1 more turn\n" in rest.stdout
    assert "0 messages\n" in nothing.stdout
