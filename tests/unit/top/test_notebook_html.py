"""Tables in a notebook."""

from orchestrator.analysis.table import Column, Table
from orchestrator.api import format_html


def test_a_table_has_its_title_its_note_and_numbers_at_the_right():
    columns = (Column(header="setting"), Column(header="step ms", is_number=True))
    drawn = format_html(Table(title="Measured", note="Medians.", columns=columns, rows=(("cpu", "1.2"),)))
    assert "<caption>Measured</caption>" in drawn
    assert '<td style="text-align: left">cpu</td><td style="text-align: right">1.2</td>' in drawn
    assert drawn.endswith("<p>Medians.</p>")


def test_no_text_of_a_record_is_markup():
    attack = "<img src=x onerror=alert(1)>"
    drawn = format_html(Table(title=attack, note=attack, columns=(Column(header=attack),), rows=((attack,),)))
    assert drawn.count("&lt;img src=x onerror=alert(1)&gt;") == 4
    assert "<img" not in drawn
