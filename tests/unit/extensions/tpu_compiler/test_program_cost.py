"""Cycles and bytes in the text of a compiled program."""

import pytest

from orchestrator.extensions.tpu_compiler.program_cost import ProgramCost, UnpricedProgramError, program_cost

_PRICED = 'backend_config={"window_config":{"estimated_cycles":"%d"},"flag_configs":[]}'
_LOOP = """
%body.1 (p: (u32[], f32[8])) -> (u32[], f32[8]) {
  %p.1 = (u32[]{:T(256)}, f32[8]{0:T(256)}) parameter(0)
  %step.1 = f32[8]{0:T(256)} fusion(%p.1#1), kind=kLoop, calls=%f.1, @PRICE@
  ROOT %t.1 = (u32[], f32[8]) tuple(%p.1#0, %step.1)
}

%condition.1 (p: (u32[], f32[8])) -> pred[] {
  %zero.1 = u32[]{:T(256)} constant(0)
  %bound.1 = u32[]{:T(256)} constant(80)
  %p.2 = (u32[]{:T(256)}, f32[8]{0:T(256)}) parameter(0)
  %guard.1 = pred[]{:T(1024)} compare(%p.2#0, %zero.1), direction=LT
  ROOT %less.1 = pred[]{:T(1024)} compare(%p.2#0, %bound.1), direction=LT
}
""".replace("@PRICE@", _PRICED % 7)


def entry(*lines: str, before: str = "") -> str:
    body = "\n".join(f"  {line}" for line in lines)
    opening = "ENTRY %main.1 (a: f32[1024]) -> f32[1024] {"
    return f"HloModule m, is_scheduled=true\n{before}\n{opening}\n{body}\n}}\n"


def test_cycles_of_the_entry_are_summed_and_names_have_no_cost():
    text = entry(
        "%a = f32[1024]{0:T(256)} parameter(0)",
        f"%b = (f32[1024]{{0:T(256)}}, f32[8]{{0}}) fusion(%a), kind=kLoop, calls=%f, {_PRICED % 100}",
        f"%c = f32[1024]{{0:T(256)}} copy(%b#0), {_PRICED % 11}",
        "%d = f32[32,32]{1,0:T(8,128)} bitcast(%c)",
        'ROOT %e = f32[4]{0} custom-call(%d), custom_call_target="ConcatBitcast"',
    )
    assert program_cost(text) == ProgramCost(cycles=111)


def test_an_operation_without_cycles_has_the_bytes_of_its_operands_and_results():
    text = entry(
        "%a = bf16[1024]{0:T(256)} parameter(0)",
        f"%b = (bf16[1024]{{0:T(256)}}, pred[8]{{0}}) fusion(%a), kind=kLoop, calls=%f, {_PRICED % 100}",
        "%s = f32[10,10]{0,1:T(8,128)(2,1)} select-and-scatter(%a, %b#0, %b#1), window={size=2}",
    )
    assert program_cost(text).unpriced_bytes == {"select-and-scatter": 2048 + 2048 + 8 + 400}


def test_a_loop_counts_its_body_once_for_every_trip():
    text = entry(
        "%a = (u32[]{:T(256)}, f32[8]{0:T(256)}) parameter(0)",
        "%w = (u32[]{:T(256)}, f32[8]{0:T(256)}) while(%a), condition=%condition.1, body=%body.1",
        before=_LOOP,
    )
    assert program_cost(text) == ProgramCost(cycles=80 * 7)


def test_a_loop_without_a_known_bound_is_refused():
    text = entry(
        "%a = (u32[]{:T(256)}, f32[8]{0:T(256)}) parameter(0)",
        "%w = (u32[]{:T(256)}, f32[8]{0:T(256)}) while(%a), condition=%condition.1, body=%body.1",
        before=_LOOP.replace("constant(80)", "add(%zero.1, %zero.1)"),
    )
    with pytest.raises(UnpricedProgramError, match="trips"):
        program_cost(text)


def test_the_dearest_branch_counts():
    branches = "".join(
        f"\n%branch.{price} (p: f32[]) -> f32[] {{\n  %x = f32[] add(%p, %p), {_PRICED % price}\n}}\n"
        for price in (3, 900)
    )
    text = entry(
        "%a = s32[] parameter(0)",
        "%c = f32[] conditional(%a, %a, %a), branch_computations={%branch.3, %branch.900}",
        before=branches,
    )
    assert program_cost(text).cycles == 900


def test_exchanges_count_their_bytes_once():
    text = entry(
        "%a = f32[256]{0:T(256)} parameter(0)",
        f"%b = f32[256]{{0}} fusion(%a), kind=kLoop, calls=%f, {_PRICED % 5}",
        "%s = f32[256]{0} all-reduce-start(%b), replica_groups={{0,1}}, to_apply=%sum",
        "%d = f32[256]{0} all-reduce-done(%s)",
    )
    assert program_cost(text) == ProgramCost(cycles=5, exchanged_bytes=1024)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no entry"),
        ("HloModule m\n", "no entry"),
        (entry("%a = f32[2] parameter(0)"), "no cycles"),
    ],
)
def test_a_program_without_an_entry_or_cycles_is_refused(text, reason):
    with pytest.raises(UnpricedProgramError, match=reason):
        program_cost(text)
