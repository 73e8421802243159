from ._case_page import (
    CALLS_A_PAGE as CALLS_A_PAGE,
    CasePage as CasePage,
    HistoryEntry as HistoryEntry,
    Neighbours as Neighbours,
    Sibling as Sibling,
    brief_case_page as brief_case_page,
    case_html as case_html,
    case_page as case_page,
)
from ._compare_page import (
    Changes as Changes,
    ComparePage as ComparePage,
    VerdictsPage as VerdictsPage,
    changes_of as changes_of,
    compare_html as compare_html,
    verdict_rows as verdict_rows,
    verdicts_html as verdicts_html,
)
from ._html_report import check_installed as check_installed, html_report as html_report
from ._rows import (
    CaseRow as CaseRow,
    Group as Group,
    RowCounter as RowCounter,
    RunCounts as RunCounts,
    ToolTotal as ToolTotal,
    row_of as row_of,
)
from ._run_page import (
    ROWS_A_PAGE as ROWS_A_PAGE,
    Choice as Choice,
    RunPage as RunPage,
    run_html as run_html,
    run_page as run_page,
)
from ._runs_page import (
    Moment as Moment,
    RunFacts as RunFacts,
    RunLine as RunLine,
    RunsPage as RunsPage,
    facts_of as facts_of,
    moment as moment,
    picture as picture,
    report_facts as report_facts,
    runs_html as runs_html,
)
from ._templates import (
    Crumb as Crumb,
    Links as Links,
    MessagePage as MessagePage,
    case_key as case_key,
    key_of as key_of,
    message_html as message_html,
    policy as policy,
    render as render,
    script as script,
    stylesheet as stylesheet,
)
from ._texts import ShownText as ShownText, shown_text as shown_text, visible as visible
from ._tool_page import (
    CallLine as CallLine,
    ToolPage as ToolPage,
    call_line as call_line,
    histogram as histogram,
    quantile as quantile,
    tool_html as tool_html,
)
