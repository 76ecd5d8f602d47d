// Runs a kernel's entry function once for all threads, blocks and sizes: registers hold
// polynomials, and loops are summed up by what every turn adds and by facts that every turn keeps.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sizes/flow.h"
#include "sizes/state.h"
#include "vgpu/environment.h"

namespace kernelsmith::sizes {

// An access to global or shared memory.
struct Access {
  uint32_t pc = 0;
  bool shared = false;
  Value address;  // of the first byte
  uint32_t bytes = 0;
};

// What the launch says.
struct LaunchValues {
  std::map<vgpu::GridRegister, Polynomial> registers;
  // Parameters by place and size.
  std::function<Value(uint32_t offset, uint32_t bytes)> parameter;
};

class Run {
 public:
  Run(const vgpu::Function& function, const Flow& flow, SymbolTable& symbols, Facts& facts,
      const LaunchValues& launch)
      : function_(function), flow_(flow), symbols_(symbols), facts_(facts), launch_(launch) {}

  // Calls `visit` for every access in every state in which it may happen.
  using Visit = std::function<void(const State& state, const Access& access)>;
  void Go(const Visit& visit);

  // Why the run says nothing; empty if it came to its end.
  const std::string& problem() const { return problem_; }
  uint32_t problem_pc() const { return problem_pc_; }

 private:
  using States = std::vector<State>;
  struct Exit {
    uint32_t from = 0;
    uint32_t to = 0;
    State state;
  };
  // What is known of a loop at its head after any number of turns.
  struct Induction {
    std::map<uint32_t, Polynomial> steps;  // by register: what a turn adds
    std::vector<Polynomial> kept;          // facts >= 0 about the counter
    std::optional<Polynomial> guard;       // a turn is taken where it is >= 0, and only there
    bool one_exit = false;                 // all threads leave by the same way
  };

  // run.cc: the flow
  States Merge(States states, uint32_t block) const;
  // The blocks of a loop (kNone: of the function) from its head to where it is left or begins anew.
  void RunRegion(uint32_t loop, States entry, std::vector<Exit>& exits, States& back);
  void RunLoop(uint32_t loop, const State& entry, std::vector<Exit>& exits);
  void RunBlock(uint32_t block, States states, std::vector<Exit>& exits);
  State AtHead(const State& entry, uint32_t loop, Symbol counter, const Induction& induction) const;
  Induction Guess(uint32_t loop, const State& entry, Symbol counter);
  std::set<Symbol> ChangingIn(uint32_t loop) const;
  bool Keep(uint32_t loop, const State& entry, Symbol counter, const States& back,
            Induction& induction) const;

  void FindTurnGuard(uint32_t loop, const State& entry, Symbol counter, const State& head,
                     const States& back, const std::vector<Exit>& exits,
                     Induction& induction) const;

  // instructions.cc
  void Execute(uint32_t pc, States& states);
  // States that come of it beside `state` are added to `more`.
  void ExecuteIn(uint32_t pc, State& state, States& more);
  Value Read(const State& state, vgpu::Operand operand) const;
  static void Write(State& state, vgpu::Operand operand, Value value);
  void Forget(const vgpu::Instruction& in, State& state) const;
  void AccessMemory(uint32_t pc, State& state);
  void Load(uint32_t pc, State& state);
  void Compare(uint32_t pc, State& state);
  ConditionPointer OfData(uint32_t pc);
  void Select(const vgpu::Instruction& in, State& state, States& more);
  void Extreme(const vgpu::Instruction& in, State& state, States& more);
  Value Compute(const vgpu::Instruction& in, State& state);
  Value Quotient(const vgpu::Instruction& in, State& state, const Polynomial& a,
                 const Polynomial& b, bool rest);
  Value Masked(const vgpu::Instruction& in, State& state, const Value& a, const Value& b);
  Value Joined(const vgpu::Instruction& in, State& state, const Polynomial& a, const Polynomial& b);
  Value Extended(const vgpu::Instruction& in, const State& state, const Value& a, bool is_signed);
  ConditionPointer ConditionOf(const State& state, vgpu::Operand operand, bool negated) const;
  // The number that the low bits stand for; nothing: it may be outside of the type.
  std::optional<Polynomial> InRange(const State& state, const Polynomial& number, int bits,
                                    bool is_signed) const;
  Value Wraps(const vgpu::Instruction& in) const;
  Value NotFollowed(const vgpu::Instruction& in) const;
  std::string LineOf(const vgpu::Instruction& in) const;
  void Fail(uint32_t pc, std::string why);

  const vgpu::Function& function_;
  const Flow& flow_;
  SymbolTable& symbols_;
  Facts& facts_;
  const LaunchValues& launch_;
  const Visit* visit_ = nullptr;
  bool guessing_ = false;  // what may be true is collected: numbers are taken to fit their types
  bool silent_ = false;    // accesses are not told
  std::map<uint32_t, Symbol> counters_;                      // by loop
  std::map<std::pair<uint32_t, uint32_t>, Symbol> at_head_;  // by loop and register
  std::map<uint32_t, Symbol> data_;                          // comparisons of data, by pc
  uint64_t steps_ = 0;
  std::string problem_;
  uint32_t problem_pc_ = 0;
};

}  // namespace kernelsmith::sizes
