from ._case_lines import (
    detail_lines as detail_lines,
    headline as headline,
    held_share as held_share,
)
from ._change_lines import (
    change_words as change_words,
    comparison_lines as comparison_lines,
    diff_lines as diff_lines,
    grouped_survivors as grouped_survivors,
    mutation_json as mutation_json,
    mutation_lines as mutation_lines,
    score_words as score_words,
    share_noticed as share_noticed,
    totals_words as totals_words,
    verdict_lines as verdict_lines,
)
from ._expected_paths import (
    Bracket as Bracket,
    ExpectedPath as ExpectedPath,
    PathRow as PathRow,
    group_labels as group_labels,
    order_text as order_text,
    path_rows as path_rows,
    paths_of as paths_of,
    side_by_side as side_by_side,
    summary as summary,
    with_brackets as with_brackets,
)
from ._full import (
    Problem as Problem,
    diagnosis as diagnosis,
    full_lines as full_lines,
    full_report as full_report,
    problems_of as problems_of,
    reported_findings as reported_findings,
)
from ._gate_lines import (
    counts_text as counts_text,
    gate_lines as gate_lines,
    gate_notes as gate_notes,
    gate_record as gate_record,
    gate_sentence as gate_sentence,
    points_text as points_text,
)
from ._json_form import report_schema as report_schema
from ._markdown import (
    github_report as github_report,
    github_summary as github_summary,
    junit_report as junit_report,
    markdown_report as markdown_report,
)
from ._paper import (
    Line as Line,
    Paper as Paper,
    Part as Part,
    cell_count as cell_count,
    duration_text as duration_text,
    escape_commands as escape_commands,
    escape_commands_in_json as escape_commands_in_json,
    fit as fit,
    printable as printable,
    seconds_between as seconds_between,
    seconds_text as seconds_text,
    wrap as wrap,
)
from ._path_lines import (
    drift_lines as drift_lines,
    drift_plain as drift_plain,
    path_lines as path_lines,
    paths_csv as paths_csv,
    paths_plain as paths_plain,
)
from ._report import (
    CaseBlock as CaseBlock,
    Report as Report,
    case_blocks as case_blocks,
    concise_lines as concise_lines,
    concise_report as concise_report,
    decided_verdict as decided_verdict,
    ending as ending,
    json_case as json_case,
    json_evidence as json_evidence,
    json_report as json_report,
    overall_line as overall_line,
    problem_lines as problem_lines,
    redacted_report as redacted_report,
    repeat_lines as repeat_lines,
)
from ._steadiness_lines import (
    interval_text as interval_text,
    parting_lines as parting_lines,
    plan_lines as plan_lines,
    share_text as share_text,
    steadiness_lines as steadiness_lines,
    trials_text as trials_text,
)
from ._trajectory_lines import (
    CallRow as CallRow,
    Lane as Lane,
    dim_lines as dim_lines,
    rows as rows,
    trajectory_lines as trajectory_lines,
)
