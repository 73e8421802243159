"""The stable codes of findings, and what each means."""

from __future__ import annotations

import msgspec

from rightcall.errors import UnknownNameError, nearest, shown


class Code(msgspec.Struct, frozen=True):
    """A kind of finding: its code, its name, and an explanation of its meaning and what to do."""

    code: str
    name: str
    explanation: str


# A code is never given to something else: people filter by them, and look them up years later.
CODES: dict[str, Code] = {
    code: Code(code, name, explanation)
    for code, name, explanation in (
        (
            "RC101",
            "call-missing",
            "An expected call was never made: no call of the trajectory could be paired with it. Look at the "
            "alignment for a call that should have been this one. If the tool goes by another name in the trace, "
            "correct the expectation; names are compared exactly, case included. If the agent may do without the "
            "call, take it out.",
        ),
        (
            "RC102",
            "call-unexpected",
            "The agent made a call that no expectation allows, under a rule that allows no extra calls (EXACT, "
            "UNORDERED, SUBSET, strict order). If extra calls are fine, use IN_ORDER or ANY_ORDER, or name the tool "
            "in `ignore_tools`.",
        ),
        (
            "RC103",
            "call-out-of-order",
            "A call was made as expected, but at another place in the order. The calls named first and second show "
            "which way round they were. If the order does not matter, use ANY_ORDER; if it does not matter only "
            "inside a parallel group, set `parallel: any_order`.",
        ),
        (
            "RC104",
            "arguments-differ",
            "The expected tool was called, but with other arguments. The sentence names each argument that differs, "
            "what was given and what was expected. Numbers are compared by value, text exactly. Where a value "
            'may vary, expect a matcher such as {"$regex": …} or {"$any": true}, or leave the argument out under '
            "the `subset` policy.",
        ),
        (
            "RC105",
            "count-wrong",
            "A tool was called more or less often than its count allows. A tool that was not called counts 0.",
        ),
        (
            "RC106",
            "output-differs",
            "The expected tool was called, but returned something else, or raised. Outputs are compared as values: "
            "text that reads as an object or a list stands for it. Where only part of an output matters, expect "
            '{"$subset": …}.',
        ),
        ("RC107", "call-forbidden", "The agent made a call that must never be made."),
        (
            "RC108",
            "final-output-differs",
            "The agent's final answer, or that of a turn, is not the expected one. `final-output` compares answers as "
            'JSON values; where only part of one matters, expect a matcher such as {"$contains": …} or {"$subset": …}. '
            "The other evaluators of the answer say in their own words what they miss.",
        ),
        (
            "RC109",
            "custom-check-failed",
            "A custom evaluator did not pass the run. The message is its reason, or its score. Its details are in the "
            "result.",
        ),
        (
            "RC110",
            "judge-disapproves",
            "A judge does not find the run good enough: its score is below the threshold, or a rubric is not met. "
            "The message has its reason, and the call that it is about. A judge can be wrong; `rightcall "
            "judge-check` says how often it agrees with people.",
        ),
        (
            "RC111",
            "call-redundant",
            "The agent made a call again although nothing had changed since it was made before: the same tool with "
            "equal arguments, which returned the same, and no call in between that may have changed something. Tools "
            "that only read can be named in `read_only`; more redundant calls are then found. If a tool is meant to be "
            "called again and again, name it in `ignore_tools`.",
        ),
        (
            "RC112",
            "calls-loop",
            "The agent made the same call, or the same few calls, over and over in a row, with the same arguments and "
            "the same results. An agent that polls or turns pages gets other results, and is not meant.",
        ),
        (
            "RC113",
            "call-retried",
            "The agent called a tool again after it had failed, more often than allowed. Look at the error: it may be "
            "the tool, or the way the agent calls it.",
        ),
        (
            "RC114",
            "call-failed",
            "A larger share of calls failed than allowed. Each call that failed is named, with its error.",
        ),
        (
            "RC115",
            "budget-exceeded",
            "The run took more calls, time or tokens than allowed. The message has both figures.",
        ),
        (
            "RC116",
            "rule-broken",
            "A call breaks a rule: it came without the call that it needs, after one that rules it out, too often, or "
            "not as every such call must be. A call is before another if it had ended when the other began, or made "
            "it; a call that was still running is not. Only calls that succeeded fulfil a rule, unless it names their "
            "`status`. The message says what there was instead; `why` is the reason that the rule gives.",
        ),
        (
            "RC117",
            "value-made-up",
            "An argument should come from an earlier output or input, and is in none of them. The message has the "
            "value, and some of those that were there. To allow a constant too, put both into `$anyOf`.",
        ),
        (
            "RC118",
            "rule-never-applied",
            "The rule applied to no call, so it says nothing about this run. It passes, and reports note it; with "
            "`must_apply: true` it is broken. If it never applies in any case, the name of the tool may be misspelt, "
            "or no case makes such a call.",
        ),
        (
            "RC119",
            "not-at-once",
            "Calls of an `at_once` group were made one after the other: the model did not ask for them in one turn, "
            "and they did not run at the same time. If only their order is free, write `any_order`.",
        ),
        (
            "RC120",
            "status-differs",
            "A call failed that was expected to succeed (`status: ok`), or succeeded where an error was expected "
            "(`status: error`). A step without `status` takes both.",
        ),
        (
            "RC301",
            "not-recorded",
            "The verdict depends on arguments, outputs or turns that the trace did not record, so there is none: the "
            "result is `not_measured`, without a score. Most instrumentations leave content out until configured "
            "otherwise; turn its recording on, or compare names only (`args_match: ignore`).",
        ),
        (
            "RC302",
            "nothing-expected",
            "A case expects nothing, so there is nothing to judge: it is `not_measured`. Add an `expect`.",
        ),
        (
            "RC303",
            "no-trace",
            "No trace belongs to this case, so it is `not_measured`. Traces are joined to cases by the attribute "
            "`rightcall.case.id`, by trace id, or by order; `--join` and `--case-attribute` say otherwise.",
        ),
        (
            "RC304",
            "calls-not-understood",
            "The log or trace holds something that may be a call and is in no format known here: an unknown item "
            "beside known ones, a list of calls of another shape, a result without its call, or an agent that asks for "
            "its calls in plain text. Calls may be missing, so what depends on all of them is `not_measured`. The "
            "message names the first such item and its keys. A rule that the calls in sight already break is failed "
            "all the same. Record spans of the tools, or give the calls in a format that `rightcall show` reads.",
        ),
        (
            "RC305",
            "fit-unknown",
            "It is unknown whether a case with `when` applies to this trajectory, because the trace does not "
            "record what `when` asks for. The case is `not_measured` for it: a trajectory that is left out silently "
            "would look like one that passed. Record what is asked for, or say `unrecorded: leave_out` in the case.",
        ),
        (
            "RC401",
            "limit-exceeded",
            "Judging this trajectory would take more than a limit allows, so it was not judged: the result is "
            "`error`, without a score. Expect less, split the trajectory, or pass larger `Limits`.",
        ),
        (
            "RC402",
            "evaluator-fault",
            "Something broke while the trajectory was judged, such as an expected object whose `__eq__` raised, or a "
            "custom evaluator that raised or returned something that is not a score. The result is `error`, without a "
            "score, and carries the traceback.",
        ),
        (
            "RC403",
            "evaluator-unavailable",
            "The case asks for an evaluator, or for a simulation, that Rightcall knows by name but does not have: a "
            "judge of its own kind, a service in the cloud; or for custom code, where none is imported. "
            "The result is `error`, without a score: what was not judged did not pass. Take the evaluator out of the "
            "eval set, or leave the case to the tool it was written for.",
        ),
        (
            "RC404",
            "evaluator-timed-out",
            "An evaluator that waits for an answer, or a custom one, did not finish in time; or, while `rightcall "
            "run` ran other cases, an evaluator took longer than `--timeout`. The result is `error`, without a score; "
            "the results of the other evaluators remain. If it needs the time, allow more with `timeout` in its "
            "configuration, or with `--timeout`.",
        ),
        (
            "RC501",
            "agent-raised",
            "The agent raised an exception, or called `sys.exit`, while it was run for this case, so there is nothing "
            "to judge: the case is an `error`. The result carries the traceback and what the agent printed. A command "
            "ended with an exit code other than 0, an endpoint could not be reached or gave no valid response, or the "
            "input does not fit the agent: the message says which.",
        ),
        (
            "RC502",
            "agent-timed-out",
            "The agent took longer for this case than `--timeout`, or `timeout` in the eval set, allows. It was "
            "cancelled or, where that did not stop it, killed. If it needs the time, allow more.",
        ),
        (
            "RC503",
            "agent-died",
            "The process that ran the agent for this case ended, crashed, was killed or was stopped, when nothing else "
            "was running in it. The other cases were run in other processes. The message has the exit code or the "
            "signal; the result has what was printed before.",
        ),
        (
            "RC504",
            "agent-memory",
            "The agent took more memory for this case than `--max-memory` allows, and was killed. If it needs that "
            "much, allow more. The memory of programs that it starts counts as well.",
        ),
        (
            "RC505",
            "agent-output",
            "The agent returned something that is not a JSON value, or its calls are too large to be kept, so it "
            "cannot be judged. Return text, numbers, lists and objects; the message has the path of the value that is "
            "none of these. If the message names a defect of Rightcall, the agent is not to blame: please report it.",
        ),
        (
            "RC506",
            "call-not-mocked",
            "The agent called a mocked tool in a way that none of its mocks, or nothing in the recording, answers. Add "
            "a rule for these arguments, or one without `when`; with `--replay`, record again with `--record`.",
        ),
        (
            "RC507",
            "agent-read-answers",
            "While it was loaded or run, the agent opened the eval set, a recording or a run folder, where it can read "
            "what is expected of it. That is a warning of the case and, with `--strict-agent`, an error. Give its file "
            "tools a folder of their own, or keep eval sets and runs (`--runs`) where it does not look. What is seen "
            "is what Python code opens in the agent's process: commands, endpoints and programs that the agent starts "
            "are not.",
        ),
        (
            "RC508",
            "model-not-recorded",
            "With `--replay`, the agent asked its model something that is not in the recording. Requests are compared "
            "by model, messages and tools; ids, dates, times and sampling settings do not count. The message has the "
            "first difference to the nearest recorded request. If the agent, its prompt or its tools have changed, "
            "record the case again with `--record`; `--live model` asks the real model.",
        ),
        (
            "RC601",
            "judge-not-configured",
            "There is no judge to ask, or nothing to ask it about: its address, its model or its key is missing "
            "(`RIGHTCALL_JUDGE_BASE_URL`, `RIGHTCALL_JUDGE_MODEL`, `RIGHTCALL_JUDGE_API_KEY`), the extra `judge` is "
            "not installed, or the case does not say what is expected. The result is `error`, without a score.",
        ),
        (
            "RC602",
            "judge-unavailable",
            "The judge could not be reached, was too busy, broke, or gave no answer in time, as often as it was asked. "
            "The result is `error`, without a score; the results of the other evaluators remain. Try again "
            "later, or allow more attempts or more time.",
        ),
        (
            "RC603",
            "judge-rejected",
            "The judge's endpoint does not take the request: the key is wrong, the model is not known, or it does not "
            "support a setting such as the temperature. The message has what it says. The result is `error`, without a "
            "score.",
        ),
        (
            "RC604",
            "judge-answer-malformed",
            "The judge answered, but not with exactly one judgement of the schema that was asked for: no JSON, other "
            "keys, two verdicts, a score outside of the scale, an answer that was cut off or is too long. Nothing is "
            "guessed or clamped: the result is `error`, without a score.",
        ),
        (
            "RC605",
            "judge-refused",
            "The judge refused to answer, or its content filter stopped it. The result is `error`, without a score.",
        ),
        (
            "RC606",
            "judge-input-too-large",
            "What the judge would have to read is more than the limit. It is not shortened, because judging half a run "
            "as a whole one would be wrong: the result is `error`, without a score. Leave tools out with "
            "`ignore_tools`, or have a part of the output judged with `target_output_key`.",
        ),
    )
}

# Words after the name of a tool, for the summary by tool; codes that are not about a tool have none.
_TOLD = {
    "RC101": "never called, or not often enough",
    "RC102": "called, but not expected",
    "RC103": "called out of order",
    "RC104": "called with other arguments",
    "RC105": "called the wrong number of times",
    "RC106": "returned something else",
    "RC107": "called, though forbidden",
    "RC111": "repeated without need",
    "RC112": "called in a loop",
    "RC113": "retried after an error",
    "RC114": "failed",
    "RC115": "took too long",
    "RC116": "called, which breaks a rule",
    "RC117": "called with a made-up value",
    "RC119": "not called at the same time as the others",
    "RC120": "failed or succeeded unexpectedly",
    "RC301": "not recorded, so not measured",
    "RC506": "called in a way no mock covers",
}


def is_unmeasured(code: str) -> bool:
    """Return whether a finding with this code says that something was not measured, not that it was wrong."""
    return code.startswith("RC3")


def explain(code: str) -> Code:
    """Return the explanation of a code, given as `RC101` or `call-missing`.

    Raises:
        UnknownNameError: no finding has this code.
    """
    given: object = code
    wanted = given.strip() if isinstance(given, str) else ""
    by_name = {known.name: known for known in CODES.values()}
    found = CODES.get(wanted.upper()) or by_name.get(wanted.lower())
    if found is None:
        raise UnknownNameError(f"no finding has the code {shown(code)}; {nearest(wanted.upper(), tuple(CODES))}")
    return found


def group_words(code: str, tool: str) -> str:
    """Return what a group of failures has in common, to follow the name of its tool: `called out of order`."""
    if tool and code in _TOLD:
        return _TOLD[code]
    return CODES[code].name.replace("-", " ") if code in CODES else code
