#include "sizes/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "vgpu/op_facts.h"

namespace kernelsmith::sizes {
namespace {

// States at a place; more of them are taken together, with what they have in common.
constexpr size_t kMostStates = 16;
// Instructions that a run may take, over all states: nested loops are run several times a level.
constexpr uint64_t kMostSteps = 400'000;

std::vector<uint32_t> Common(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<uint32_t> common;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
  return common;
}

const Value& At(const State& state, uint32_t place) {
  static const Value kData;
  const auto found = state.registers.find(place);
  return found == state.registers.end() ? kData : found->second;
}

}  // namespace

void Run::Go(const Visit& visit) {
  visit_ = &visit;
  std::vector<Exit> exits;
  States back;
  RunRegion(Flow::kNone, {State{}}, exits, back);
}

void Run::Fail(uint32_t pc, std::string why) {
  if (!problem_.empty()) return;
  problem_ = std::move(why);
  problem_pc_ = pc;
}

// States that agree in what is still needed are one.
Run::States Run::Merge(States states, uint32_t block) const {
  const std::vector<uint32_t>& live = flow_.blocks[block].live;
  std::vector<States> groups;
  for (State& state : states) {
    std::erase_if(state.registers, [&](const auto& each) {
      return !std::binary_search(live.begin(), live.end(), each.first);
    });
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const States& other) {
      return std::all_of(live.begin(), live.end(),
                         [&](uint32_t place) { return At(state, place) == At(other[0], place); });
    });
    if (same == groups.end()) {
      groups.emplace_back().push_back(std::move(state));
    } else {
      same->push_back(std::move(state));
    }
  }
  if (groups.size() > kMostStates) {
    for (size_t i = 1; i < groups.size(); ++i) {
      for (State& state : groups[i]) {
        for (const uint32_t place : live) {
          if (At(groups[0][0], place) == At(state, place)) continue;
          groups[0][0].registers[place] =
              Value::Unknown(facts_.ReasonOf("too many ways lead there"));
        }
        groups[0].push_back(std::move(state));
      }
    }
    groups.resize(1);
  }
  States merged;
  for (States& group : groups) {
    State one = std::move(group[0]);
    std::vector<std::vector<uint32_t>> guards = {one.guards};
    for (size_t i = 1; i < group.size(); ++i) {
      one.facts = Common(one.facts, group[i].facts);
      one.nonzero = Common(one.nonzero, group[i].nonzero);
      one.divisions = Common(one.divisions, group[i].divisions);
      one.exact &= group[i].exact;
      guards.push_back(std::move(group[i].guards));
    }
    one.exact &= facts_.MergeGuards(std::move(guards), one.guards);
    merged.push_back(std::move(one));
  }
  return merged;
}

void Run::RunRegion(uint32_t loop, States entry, std::vector<Exit>& exits, States& back) {
  const uint32_t head = loop == Flow::kNone ? 0 : flow_.loops[loop].head;
  std::map<uint32_t, States> waiting;
  waiting[head] = std::move(entry);
  const auto inside = [&](uint32_t block) {
    return loop == Flow::kNone || flow_.loops[loop].blocks[block];
  };
  for (const uint32_t block : flow_.in_order) {
    const auto found = waiting.find(block);
    if (found == waiting.end() || !problem_.empty()) continue;
    States states = Merge(std::move(found->second), block);
    waiting.erase(found);
    std::vector<Exit> out;
    const uint32_t inner = flow_.LoopAt(block);
    if (inner != Flow::kNone && (block != head || loop != inner)) {
      for (const State& state : states) RunLoop(inner, state, out);
    } else {
      RunBlock(block, std::move(states), out);
    }
    for (Exit& exit : out) {
      if (loop != Flow::kNone && exit.to == head) {
        back.push_back(std::move(exit.state));
      } else if (inside(exit.to)) {
        waiting[exit.to].push_back(std::move(exit.state));
      } else {
        exits.push_back(std::move(exit));
      }
    }
  }
}

void Run::RunBlock(uint32_t block, States states, std::vector<Exit>& exits) {
  const Flow::Block& here = flow_.blocks[block];
  for (uint32_t pc = here.first; pc < here.last && problem_.empty(); ++pc) {
    const vgpu::Instruction& in = function_.code[pc];
    steps_ += states.size();
    if (steps_ > kMostSteps) return Fail(pc, "its loops take too long to follow");
    if (!vgpu::EndsBlock(in.op) || in.op == vgpu::Op::kBarrier) {
      Execute(pc, states);
      continue;
    }
    const bool guarded = IsGuarded(function_, in);
    if (in.op == vgpu::Op::kCall) return Fail(pc, "it calls a function");
    for (const State& state : states) {
      const ConditionPointer taken = guarded ? ConditionOf(state, in.guard, in.guard_negated)
                                             : MakeCondition(Condition::Kind::kTrue);
      if (in.op == vgpu::Op::kBra) {
        uint32_t to = here.next.back();
        for (State& each : facts_.Assume(state, *taken))
          exits.push_back({block, to, std::move(each)});
      }
      if (guarded && here.next.size() + (in.op == vgpu::Op::kBra ? 0 : 1) > 1) {
        for (State& each : facts_.Assume(state, *Not(taken))) {
          exits.push_back({block, here.next.front(), std::move(each)});
        }
      }
    }
    return;
  }
  // The block ends where another one begins.
  for (State& state : states) {
    for (const uint32_t next : here.next) exits.push_back({block, next, state});
  }
}

State Run::AtHead(const State& entry, uint32_t loop, Symbol counter,
                  const Induction& induction) const {
  State state = entry;
  const Polynomial turns = Polynomial::Of(counter);
  for (const uint32_t place : flow_.loops[loop].written) {
    const auto step = induction.steps.find(place);
    const Value& first = At(entry, place);
    if (step == induction.steps.end() || first.kind != Value::Kind::kNumber) {
      state.registers[place] =
          Value::Unknown(first.kind == Value::Kind::kNumber
                             ? facts_.ReasonOf("a loop changes the index in no even steps")
                             : 0);
    } else {
      state.registers[place] = Value::Number(first.number + turns * step->second);
    }
  }
  for (const Polynomial& fact : induction.kept) facts_.Add(state, fact);
  return state;
}

// What a turn may add and keep, from one turn from unknown values.
Run::Induction Run::Guess(uint32_t loop, const State& entry, Symbol counter) {
  const Flow::Loop& what = flow_.loops[loop];
  const bool guessing = std::exchange(guessing_, true);
  const bool silent = std::exchange(silent_, true);
  State state = entry;
  std::map<uint32_t, Symbol> starts;
  for (const uint32_t place : what.written) {
    const Value& first = At(entry, place);
    if (first.kind == Value::Kind::kNumber) {
      Symbol& symbol = at_head_[{loop, place}];
      if (symbol == 0) symbol = symbols_.Make(fmt::format("r{}@{}", place, what.head), false);
      state.registers[place] = Value::Number(Polynomial::Of(symbol));
      starts[place] = symbol;
    } else {
      state.registers[place] = Value::Unknown();
    }
  }
  std::vector<Exit> exits;
  States back;
  RunRegion(loop, {state}, exits, back);
  guessing_ = guessing;
  silent_ = silent;

  Induction induction;
  if (back.empty()) return induction;
  const std::set<Symbol> changing = ChangingIn(loop);
  const auto steady = [&](const Polynomial& polynomial) {
    return std::all_of(polynomial.terms().begin(), polynomial.terms().end(), [&](const auto& term) {
      return std::none_of(term.first.factors.begin(), term.first.factors.end(),
                          [&](Symbol symbol) { return symbols_.ChangesWith(symbol, changing); });
    });
  };
  for (const auto& [place, symbol] : starts) {
    std::optional<Polynomial> step;
    bool same = true;
    for (const State& each : back) {
      const Value& now = At(each, place);
      if (now.kind != Value::Kind::kNumber) {
        same = false;
        break;
      }
      const Polynomial added = now.number - Polynomial::Of(symbol);
      same = same && steady(added) && (!step || *step == added);
      step = added;
    }
    if (same && step) induction.steps[place] = *step;
  }
  // What holds at the end of a turn, of the turn before.
  const Polynomial turns = Polynomial::Of(counter);
  const auto candidate = [&](const Polynomial& fact) {
    Polynomial before = fact;
    for (const auto& [place, symbol] : starts) {
      const auto step = induction.steps.find(place);
      if (!fact.Has(symbol) || step == induction.steps.end()) continue;
      before = before.Substitute(symbol,
                                 At(entry, place).number + (turns - Polynomial(1)) * step->second);
    }
    const Polynomial now = Tightened(before);
    if (!now.valid() || !now.Has(counter)) return;
    for (const auto& [monomial, coefficient] : now.terms()) {
      for (const Symbol symbol : monomial.factors) {
        if (symbol != counter && symbols_.ChangesWith(symbol, changing)) return;
      }
    }
    if (std::find(induction.kept.begin(), induction.kept.end(), now) == induction.kept.end()) {
      induction.kept.push_back(now);
    }
  };
  State common = back[0];
  for (const State& each : back) {
    common.facts = Common(common.facts, each.facts);
    common.nonzero = Common(common.nonzero, each.nonzero);
  }
  for (const uint32_t fact : common.facts) {
    if (!std::binary_search(entry.facts.begin(), entry.facts.end(), fact)) {
      candidate(facts_.Of(fact));
    }
  }
  for (const uint32_t each : common.nonzero) {
    candidate(facts_.Of(each) - Polynomial(1));
    candidate(Polynomial(-1) - facts_.Of(each));
  }
  // They must hold at the beginning.
  State first = entry;
  std::erase_if(induction.kept, [&](const Polynomial& fact) {
    return !facts_.Natural(first, fact.Substitute(counter, Polynomial(0)));
  });
  return induction;
}

// Takes out what does not hold at the end of a turn; false if there was something.
bool Run::Keep(uint32_t loop, const State& entry, Symbol counter, const States& back,
               Induction& induction) const {
  const Polynomial next = Polynomial::Of(counter) + Polynomial(1);
  bool all = true;
  for (const State& state : back) {
    all &= std::erase_if(induction.steps, [&](const auto& each) {
             const auto& [place, step] = each;
             const Value expected = Value::Number(At(entry, place).number + next * step);
             return !(At(state, place) == expected);
           }) == 0;
    all &= std::erase_if(induction.kept, [&](const Polynomial& fact) {
             return !facts_.Natural(state, fact.Substitute(counter, next));
           }) == 0;
  }
  return all;
}

// Symbols whose values differ from turn to turn: of the loop itself and of those inside of it.
std::set<Symbol> Run::ChangingIn(uint32_t loop) const {
  std::set<Symbol> changing;
  const auto inside = [&](uint32_t other) {
    return flow_.loops[loop].blocks[flow_.loops[other].head];
  };
  for (const auto& [other, counter] : counters_) {
    if (inside(other)) changing.insert(counter);
  }
  for (const auto& [place, symbol] : at_head_) {
    if (inside(place.first)) changing.insert(symbol);
  }
  for (const auto& [pc, symbol] : data_) {
    for (uint32_t block = 0; block < flow_.blocks.size(); ++block) {
      const bool here = pc >= flow_.blocks[block].first && pc < flow_.blocks[block].last;
      if (here && flow_.loops[loop].blocks[block]) changing.insert(symbol);
    }
  }
  return changing;
}

// Whether the threads that come to the end of a turn are those that began it and for which one more
// fact holds, which once broken stays so. Then it says who takes a turn. Threads must leave by one
// way alone.
void Run::FindTurnGuard(uint32_t loop, const State& entry, Symbol counter, const State& head,
                        const States& back, const std::vector<Exit>& exits,
                        Induction& induction) const {
  induction.guard.reset();
  induction.one_exit =
      !exits.empty() && std::all_of(exits.begin(), exits.end(), [&](const Exit& e) {
        return e.from == exits[0].from && e.to == exits[0].to;
      });
  for (uint32_t block = 0; block < flow_.blocks.size(); ++block) {
    if (!flow_.loops[loop].blocks[block]) continue;
    const vgpu::Instruction& last = function_.code[flow_.blocks[block].last - 1];
    if (vgpu::EndsFunction(last.op)) induction.one_exit = false;
  }
  if (!induction.one_exit || back.size() != 1 || !back[0].exact || !head.exact) return;
  std::vector<uint32_t> more;
  std::set_difference(back[0].guards.begin(), back[0].guards.end(), head.guards.begin(),
                      head.guards.end(), std::back_inserter(more));
  std::vector<uint32_t> less;
  std::set_difference(head.guards.begin(), head.guards.end(), back[0].guards.begin(),
                      back[0].guards.end(), std::back_inserter(less));
  if (more.size() != 1 || !less.empty()) return;
  const Polynomial goes_on = facts_.Of(more[0]);
  const std::optional<Polynomial> slope = goes_on.CoefficientOf(counter);
  if (!slope || slope->Has(counter) || !facts_.Natural(entry, -*slope)) return;
  const Polynomial turns = Polynomial::Of(counter);
  const Polynomial before = goes_on.Substitute(counter, turns - Polynomial(1));
  // The first turn needs no other.
  if (!facts_.Natural(entry, before.Substitute(counter, Polynomial(0)))) return;
  induction.guard = before;
}

void Run::RunLoop(uint32_t loop, const State& entry, std::vector<Exit>& exits) {
  Symbol& known = counters_[loop];
  if (known == 0) known = symbols_.MakeCounter(fmt::format("turn{}", loop));
  const Symbol counter = known;
  Induction induction = Guess(loop, entry, counter);
  if (!problem_.empty()) return;
  const bool silent = std::exchange(silent_, true);
  std::vector<Exit> left;
  // Every round takes something out, so it ends.
  while (problem_.empty()) {
    left.clear();
    States back;
    const State head = AtHead(entry, loop, counter, induction);
    RunRegion(loop, {head}, left, back);
    if (problem_.empty() && !Keep(loop, entry, counter, back, induction)) continue;
    FindTurnGuard(loop, entry, counter, head, back, left, induction);
    break;
  }
  silent_ = silent;
  if (!problem_.empty()) return;
  if (!silent_) {
    left.clear();
    States back;
    State head = AtHead(entry, loop, counter, induction);
    head.exact &= induction.guard.has_value();
    if (induction.guard) facts_.AddGuard(head, *induction.guard);
    RunRegion(loop, {std::move(head)}, left, back);
  }
  // Whoever comes in goes out, by way of one state if that is all there is.
  for (Exit& exit : left) {
    exit.state.guards = entry.guards;
    exit.state.exact = entry.exact && induction.one_exit && left.size() == 1;
    exits.push_back(std::move(exit));
  }
}

}  // namespace kernelsmith::sizes
