from ._case_page import (
    CALLS_A_PAGE as CALLS_A_PAGE,
    Acting as Acting,
    CasePage as CasePage,
    HistoryEntry as HistoryEntry,
    Neighbours as Neighbours,
    Sibling as Sibling,
    brief_case_page as brief_case_page,
    case_html as case_html,
    case_page as case_page,
)
from ._compare_list import (
    LONGEST_IGNORED as LONGEST_IGNORED,
    MOST_IGNORED as MOST_IGNORED,
    AlignedCall as AlignedCall,
    ChangeLine as ChangeLine,
    Changes as Changes,
    ComparedCase as ComparedCase,
    ComparePage as ComparePage,
    Shown as Shown,
    aligned as aligned,
    changes_of as changes_of,
    compare_html as compare_html,
    groups_of as groups_of,
    lines_of as lines_of,
    other_answers as other_answers,
    sentence_of_change as sentence_of_change,
    tabs_of as tabs_of,
    words_of as words_of,
)
from ._copies import Copy as Copy, copies_of as copies_of
from ._edit_page import (
    DiffRow as DiffRow,
    EditPage as EditPage,
    EditScope as EditScope,
    diff_rows as diff_rows,
    edit_html as edit_html,
)
from ._evaluations import expected_calls as expected_calls
from ._gate_panel import GatePanel as GatePanel, gate_panel as gate_panel
from ._html_report import check_installed as check_installed, html_report as html_report
from ._mutants_page import MutantsPage as MutantsPage, mutants_html as mutants_html, mutants_page as mutants_page
from ._path_graph import Graph as Graph, path_graph as path_graph
from ._paths_page import (
    LISTED as LISTED,
    ChosenPath as ChosenPath,
    Option as Option,
    PathsPage as PathsPage,
    RunOfPath as RunOfPath,
    case_partings as case_partings,
    paths_file as paths_file,
    paths_html as paths_html,
    paths_page as paths_page,
    with_drift as with_drift,
)
from ._rows import (
    CaseRow as CaseRow,
    Group as Group,
    RowCounter as RowCounter,
    RunCounts as RunCounts,
    ToolTotal as ToolTotal,
    row_of as row_of,
)
from ._run_list import (
    GROUPS_A_PAGE as GROUPS_A_PAGE,
    CauseView as CauseView,
    ListedCase as ListedCase,
    RunHead as RunHead,
    RunListPage as RunListPage,
    cause_key as cause_key,
    cause_views as cause_views,
    pills as pills,
    run_head as run_head,
    run_list_html as run_list_html,
    steadiness_of as steadiness_of,
)
from ._run_page import (
    ROWS_A_PAGE as ROWS_A_PAGE,
    CallLine as CallLine,
    Choice as Choice,
    RunPage as RunPage,
    ToolPage as ToolPage,
    call_line as call_line,
    histogram as histogram,
    quantile as quantile,
    run_page as run_page,
    tool_html as tool_html,
)
from ._runs_page import (
    Moment as Moment,
    Picture as Picture,
    RunFacts as RunFacts,
    RunLine as RunLine,
    RunsPage as RunsPage,
    VerdictsPage as VerdictsPage,
    ends_text as ends_text,
    facts_of as facts_of,
    moment as moment,
    picture as picture,
    pictures as pictures,
    report_facts as report_facts,
    runs_html as runs_html,
    verdict_rows as verdict_rows,
    verdicts_html as verdicts_html,
)
from ._search_page import (
    MOST_FOUND as MOST_FOUND,
    FoundCase as FoundCase,
    FoundRun as FoundRun,
    SearchPage as SearchPage,
    search_html as search_html,
)
from ._sortable_table import (
    NEWEST_FIRST as NEWEST_FIRST,
    RUN_COLUMNS as RUN_COLUMNS,
    Column as Column,
    Sorting as Sorting,
    sorted_rows as sorted_rows,
    sorted_table as sorted_table,
    sorting_of as sorting_of,
)
from ._templates import (
    Crumb as Crumb,
    Links as Links,
    MessagePage as MessagePage,
    ShownText as ShownText,
    case_key as case_key,
    key_of as key_of,
    message_html as message_html,
    policy as policy,
    render as render,
    render_part as render_part,
    script as script,
    shown_text as shown_text,
    stylesheet as stylesheet,
    visible as visible,
)
from ._timeline_items import TimelineItem as TimelineItem
from ._trends_page import (
    TrendRun as TrendRun,
    TrendsPage as TrendsPage,
    trends_html as trends_html,
    trends_page as trends_page,
)
