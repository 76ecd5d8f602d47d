#include "generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string_view>

#include "instructions.h"
#include "special_values.h"
#include "support/check.h"
#include "support/rng.h"

namespace kernelsmith::fuzz {

namespace {

constexpr int kScratchSlot = 100;  // slots that kernels read and write; those below are results

struct Scope {
  int depth = 0;
  bool together = true;  // all lanes that have not exited are here at the same time
  std::string leave;     // label behind the innermost loop, and of its end
  std::string next;
  std::vector<std::string> counters;  // counters of the uniform loops around, all below 4
};

class Generator {
 public:
  Generator(uint64_t seed, const GeneratorOptions& options) : rng_(seed), options_(options) {
    program_.seed = seed;
  }

  Program Run() {
    faulty_ = Below(16) == 0;
    waits_in_loops_ = OneIn(2);
    Input();
    Prologue();
    const int statements = options_.statements / 2 +
                           static_cast<int>(Below(static_cast<uint64_t>(options_.statements)));
    for (int i = 0; i < statements; ++i) Statement({});
    Epilogue();
    SetShape(program_, 0);
    return std::move(program_);
  }

 private:
  uint64_t Below(uint64_t n) { return rng_.Below(n); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  template <typename T>
  const T& Pick(const std::vector<T>& all) {
    return all[Below(all.size())];
  }
  std::string Choose(std::initializer_list<std::string> all) {
    return all.begin()[Below(all.size())];
  }
  void Emit(int unit, std::string text) { program_.lines.push_back({std::move(text), unit}); }
  void Label(const std::string& label) { Emit(Line::kStays, label + ":"); }
  std::string NewLabel() { return fmt::format("L{}", labels_++); }
  int NewUnit() { return units_++; }

  // ---- operands

  // Few, so that values meet; every register of each kind is stored in the end, which costs
  // compile time.
  static int CountOf(char kind) {
    switch (kind) {
      case 'R':
        return 12;
      case 'F':
        return 8;
      case 'P':
        return 6;
      case 'G':
        return 4;
      default:
        return 5;
    }
  }
  std::string Register(char kind) {
    const char name = static_cast<char>(kind - 'A' + 'a');
    return fmt::format("%{}{}", name, Below(static_cast<uint64_t>(CountOf(kind))));
  }
  std::string Immediate(char kind) {
    switch (kind) {
      case 'F':
        return fmt::format("0f{:08X}", kFloats[Below(std::size(kFloats))]);
      case 'G':
        return fmt::format("0d{:016X}", kDoubles[Below(std::size(kDoubles))]);
      case 'H':
        return std::to_string(static_cast<int16_t>(kIntegers[Below(std::size(kIntegers))]));
      default:
        return std::to_string(kIntegers[Below(std::size(kIntegers))]);
    }
  }

  // A pattern (instructions.h) with every choice made.
  std::string Expand(std::string_view pattern, const std::string& mask = "-1") {
    std::string text;
    std::vector<std::string> before;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '(') {
        const size_t end = pattern.find(')', i);
        std::vector<std::string_view> choices;
        size_t from = i + 1;
        while (from <= end) {
          const size_t to = std::min(pattern.find('|', from), end);
          choices.push_back(pattern.substr(from, to - from));
          from = to + 1;
        }
        text += choices[Below(choices.size())];
        i = end;
        continue;
      }
      if (pattern[i] != '$') {
        text += pattern[i];
        continue;
      }
      const char kind = pattern[++i];
      if (kind == '8') {
        text += std::to_string(Below(256));
      } else if (kind == 'n') {
        text += std::to_string(Below(40));
      } else if (kind == 'M') {
        text += mask;
      } else if (kind >= 'a') {
        const char upper = static_cast<char>(kind - 'a' + 'A');
        text += Below(6) == 0 ? Immediate(upper) : Register(upper);
      } else {
        std::string name = Register(kind);
        if (i + 1 < pattern.size() && pattern[i + 1] == '\'') {
          ++i;
          while (std::find(before.begin(), before.end(), name) != before.end()) {
            name = Register(kind);
          }
        }
        before.push_back(name);
        text += name;
      }
    }
    return text;
  }

  std::string Guard() {
    return OneIn(5) ? (OneIn(2) ? "@" : "@!") + Register('P') + " " : std::string();
  }

  // ---- beginning and end

  void Input() {
    for (uint32_t i = 0; i < kInputBytes / 4; ++i) {
      uint32_t word = static_cast<uint32_t>(rng_.Next());
      switch (Below(6)) {
        case 0:
          word = static_cast<uint32_t>(kIntegers[Below(std::size(kIntegers))]);
          break;
        case 1:
          word = kFloats[Below(std::size(kFloats))];
          break;
        case 2:
        case 3:
          word = std::bit_cast<uint32_t>(static_cast<float>(rng_.Normal()));
          break;
        default:
          break;
      }
      program_.input.push_back(word);
    }
  }

  void Prologue() {
    const auto one = [&](const std::string& text) { Emit(NewUnit(), text); };
    one("ld.param.u64 %x0, [out];");
    one("ld.param.u32 %u0, [five];");
    one("mov.u32 %u1, %ctaid.x;");
    one("mov.u32 %u2, %nctaid.x;");
    one("mov.u32 %u3, 3;");
    one("mov.u32 %i0, %tid.x;");
    one("mov.u32 %i1, %tid.y;");
    one("mov.u32 %i2, %laneid;");
    int unit = NewUnit();  // i3: block, i4: thread of it, c60: threads of a block, i5: thread
    for (const char* text :
         {"mov.u32 %a0, %ctaid.z;", "mov.u32 %a1, %nctaid.y;", "mov.u32 %a2, %ctaid.y;",
          "mad.lo.u32 %a0, %a0, %a1, %a2;", "mov.u32 %a1, %nctaid.x;", "mov.u32 %a2, %ctaid.x;",
          "mad.lo.u32 %i3, %a0, %a1, %a2;"}) {
      Emit(unit, text);
    }
    unit = NewUnit();
    for (const char* text : {"mov.u32 %a0, %tid.z;", "mov.u32 %a1, %ntid.y;",
                             "mov.u32 %c60, %ntid.x;", "mov.u32 %a2, %ntid.z;",
                             "mad.lo.u32 %a0, %a0, %a1, %i1;", "mad.lo.u32 %i4, %a0, %c60, %i0;",
                             "mul.lo.u32 %c60, %c60, %a1;", "mul.lo.u32 %c60, %c60, %a2;"}) {
      Emit(unit, text);
    }
    one("mad.lo.u32 %i5, %i3, %c60, %i4;");
    unit = NewUnit();
    Emit(unit, "mul.wide.u32 %x1, %i5, 8;");
    Emit(unit, "add.s64 %x1, %x1, %x0;");
    Emit(unit, "add.s64 %x1, %x1, <slots>;");
    unit = NewUnit();
    Emit(unit, fmt::format("mad.wide.u32 %x2, %i5, {}, %x0;", kPrivateBytes));
    Emit(unit, "add.s64 %x2, %x2, <private>;");
    one("mov.u64 %x3, in;");
    one("mov.u32 %i6, sh;");
    one("mad.lo.u32 %i7, %i4, 32, %i6;");
    for (int i = 0; i < CountOf('R'); ++i) {
      unit = NewUnit();
      const std::string name = fmt::format("%r{}", i);
      if (i < 2) {
        Load(unit, name, "b32", 4);
        continue;
      }
      switch (Below(4)) {
        case 0:
          Emit(unit, fmt::format("mov.u32 {}, {};", name,
                                 Choose({"%tid.x", "%tid.y", "%laneid", "%ctaid.x", "%ntid.x",
                                         "%warpid", "%lanemask_lt", "%i4", "%i5", "%u0"})));
          break;
        case 1:
          Emit(unit, fmt::format("mov.u32 {}, {};", name, Immediate('R')));
          break;
        case 2:
          Load(unit, name, "b32", 4);
          break;
        default:
          Emit(unit, fmt::format("{} {}, %r{}, {};",
                                 Choose({"xor.b32", "add.s32", "mul.lo.s32", "shr.u32"}), name,
                                 Below(static_cast<uint64_t>(i)), Immediate('R')));
      }
    }
    for (const auto& [kind, type, bytes, made] : {std::tuple{'H', "b16", 2, "cvt.u16.u32 $, $R"},
                                                  {'D', "b64", 8, "mov.b64 $, {$R, $R}"},
                                                  {'F', "f32", 4, "mov.b32 $, $R"},
                                                  {'G', "f64", 8, ""}}) {
      for (int i = 0; i < CountOf(kind); ++i) {
        const std::string name = fmt::format("%{}{}", static_cast<char>(kind - 'A' + 'a'), i);
        if (OneIn(4)) {
          Load(NewUnit(), name, type, bytes);
          continue;
        }
        std::string pattern = made;
        if (kind == 'G') pattern = OneIn(2) ? "cvt.f64.f32 $, $F" : "mov.b64 $, $D";
        if (kind == 'D' && OneIn(2)) pattern = "cvt.(u64|s64).(u32|s32) $, $R";
        pattern.replace(pattern.find("$,"), 1, name);
        Emit(NewUnit(), Expand(pattern) + ";");
      }
    }
    for (int i = 0; i < CountOf('P'); ++i) {
      Emit(NewUnit(), fmt::format("setp.{}.s32 %p{}, {}, {};", Choose({"lt", "ge", "eq", "ne"}), i,
                                  Register('R'), Expand("$r")));
    }
  }

  // Takes a value from the input, by thread or the same for all.
  void Load(int unit, const std::string& name, const std::string& type, int bytes) {
    if (OneIn(3)) {
      Emit(unit, fmt::format("ld.global.{} {}, [in+{}];", type, name,
                             Below(kInputBytes / static_cast<uint64_t>(bytes)) *
                                 static_cast<uint64_t>(bytes)));
      return;
    }
    Emit(unit, fmt::format("mad.wide.u32 %x4, %i4, {}, %x3;", bytes));
    Emit(unit,
         fmt::format("ld.global.{} {}, [%x4+{}];", type, name,
                     Below(2000 / static_cast<uint64_t>(bytes)) * static_cast<uint64_t>(bytes)));
  }

  void Epilogue() {
    int slot = 0;
    const auto store = [&](const std::string& type, const std::string& value) {
      Emit(NewUnit(), fmt::format("st.global.{} [%x1+<slot {}>], {};", type, slot++, value));
    };
    // Two or four at a time: each access is a lot of code.
    for (int i = 0; i < CountOf('R'); i += 2) {
      store("v2.b32", fmt::format("{{%r{}, %r{}}}", i, i + 1));
    }
    for (int i = 0; i < CountOf('F'); i += 2) {
      store("v2.f32", fmt::format("{{%f{}, %f{}}}", i, i + 1));
    }
    store("v4.b16", "{%h0, %h1, %h2, %h3}");
    store("b16", "%h4");
    for (int i = 0; i < CountOf('D'); ++i) store("b64", fmt::format("%d{}", i));
    for (int i = 0; i < CountOf('G'); ++i) store("f64", fmt::format("%g{}", i));
    store("v2.b32", "{%u0, %u1}");
    store("v2.b32", "{%u2, %u3}");
    const int unit = NewUnit();
    Emit(unit, "mov.u32 %a0, 0;");
    for (int i = 0; i < CountOf('P'); ++i) {
      Emit(unit, fmt::format("selp.b32 %a1, {}, 0, %p{};", 1 << i, i));
      Emit(unit, "or.b32 %a0, %a0, %a1;");
    }
    Emit(unit, fmt::format("st.global.b32 [%x1+<slot {}>], %a0;", slot++));
    KS_CHECK(slot <= kScratchSlot);
    Emit(Line::kStays, "ret;");
  }

  // ---- memory

  struct Element {
    const char* type;
    int bytes;
  };

  // Registers for a value of so many bytes.
  char KindFor(int bytes, bool store, const char* type) {
    if (bytes == 8) return OneIn(3) ? 'G' : 'D';
    if (type[0] == 'f') return 'F';
    if (bytes == 4) return !store && OneIn(6) && type[0] != 'b' ? 'D' : OneIn(4) ? 'F' : 'R';
    return OneIn(2) ? 'H' : 'R';
  }

  void Access(const Scope& scope) {
    static constexpr Element kElements[] = {
        {"u8", 1},  {"s8", 1},  {"b8", 1},  {"u16", 2}, {"s16", 2}, {"b16", 2}, {"u32", 4},
        {"s32", 4}, {"b32", 4}, {"f32", 4}, {"b32", 4}, {"u64", 8}, {"s64", 8}, {"b64", 8}};
    const Element element = kElements[Below(std::size(kElements))];
    int width = OneIn(3) ? (OneIn(2) ? 2 : 4) : 1;
    if (width * element.bytes > 16) width = 1;
    bool store = OneIn(2);
    std::string type = element.type;
    const int unit = NewUnit();
    const auto total = static_cast<uint64_t>(width * element.bytes);
    const auto aligned = [&](uint64_t below) { return Below(below / total) * total; };
    std::string space;
    bool global = true;  // unless it has a space of its own
    std::string address;
    switch (Below(scope.together ? 11 : 10)) {
      case 0:  // the same place for all
        store = false;
        address = fmt::format("[{}+{}]", OneIn(2) ? "in" : "%x3", aligned(kInputBytes));
        break;
      case 1:
      case 2:
        store = false;
        address = Affine(unit, scope, total);
        break;
      case 3:
        store = false;
        address = Masked(unit, "%x3", 4095 & ~(total - 1));
        break;
      case 4:
        address = fmt::format("[%x2+{}]", aligned(kPrivateBytes));
        break;
      case 5:
        address = Masked(unit, "%x2", (kPrivateBytes - 1) & ~(total - 1));
        break;
      case 6:
        if (total > 8) {
          address = fmt::format("[%x2+{}]", aligned(kPrivateBytes));
        } else {
          // Side by side with what other threads have there.
          Emit(unit, fmt::format("add.s64 %x4, %x1, <slot {}>;", kScratchSlot + Below(4)));
          address = fmt::format("[%x4+{}]", aligned(8));
        }
        break;
      case 7:
        space = "shared";
        if (OneIn(3)) {
          Emit(unit, fmt::format("and.b32 %a2, {}, {};", Register('R'), 31 & ~(total - 1)));
          Emit(unit, "add.u32 %a2, %a2, %i7;");
          address = "[%a2]";
        } else {
          address = fmt::format("[%i7+{}]", aligned(32));
        }
        if (OneIn(4)) {  // by its generic address
          space = "";
          global = false;
          Emit(unit, fmt::format("cvt.u64.u32 %x4, {};",
                                 address[1] == '%' && address[2] == 'a' ? "%a2" : "%i7"));
          Emit(unit, "cvta.shared.u64 %x4, %x4;");
          address = "[%x4]";
        }
        break;
      case 8:
      case 9:
        space = "local";
        if (OneIn(2)) {
          address = fmt::format("[loc+{}]", aligned(64));
        } else {
          Emit(unit, "mov.u64 %x5, loc;");
          address = Masked(unit, "%x5", 63 & ~(total - 1));
          if (OneIn(3)) {
            space = "";
            global = false;
            Emit(unit, "cvta.local.u64 %x4, %x4;");
          }
        }
        break;
      default:  // lanes of a warp at the same places: the last one of each wins
        space = "shared";
        Emit(unit, fmt::format("and.b32 %a2, {}, {};", Register('R'), 1023 & ~(total - 1)));
        Emit(unit, "and.b32 %a3, %i4, -32;");
        Emit(unit, "mad.lo.u32 %a2, %a3, 32, %a2;");
        Emit(unit, "add.u32 %a2, %a2, %i6;");
        address = "[%a2]";
    }
    std::string guard = Guard();
    if (faulty_ && OneIn(3) && space != "local") {
      // One thread goes astray: somewhere else, or off by one byte.
      Emit(unit, fmt::format("setp.eq.u32 %q2, %i4, {};", Below(70)));
      Emit(unit, fmt::format("selp.b32 %a2, {}, 0, %q2;",
                             OneIn(2) ? Register('R') : std::to_string(Below(4) * 4000 + 1)));
      Emit(unit, "cvt.s64.s32 %x4, %a2;");
      Emit(unit, "add.s64 %x4, %x4, %x2;");
      address = "[%x4]";
      space = "";
      global = true;
    }
    const char kind = KindFor(element.bytes, store, element.type);
    if (type[0] == 'f' && kind != 'F') type = "b32";
    if ((kind == 'F' || kind == 'G') && type[0] != 'b' && type[0] != 'f') {
      type = "b" + std::to_string(8 * element.bytes);
    }
    std::string value = Register(kind);
    if (width > 1) {
      std::vector<std::string> names{value};
      while (names.size() < static_cast<size_t>(width)) {
        std::string name = Register(kind);
        if (store || std::find(names.begin(), names.end(), name) == names.end()) {
          names.push_back(std::move(name));
        }
      }
      value = fmt::format("{{{}}}", fmt::join(names, ", "));
    } else if (store && OneIn(8)) {
      value = Immediate(kind == 'F' || kind == 'G' ? kind : 'H');
    }
    const std::string where = !space.empty() ? "." + space : global && !OneIn(4) ? ".global" : "";
    const std::string vector = width > 1 ? fmt::format(".v{}", width) : "";
    const bool strong = OneIn(12) && space != "local" && (waits_in_loops_ || scope.leave.empty());
    const std::string strength = strong ? Choose({".volatile", ".relaxed.gpu"}) : "";
    if (store) {
      Emit(unit, fmt::format("{}st{}{}{}.{} {}, {};", guard, strength, where, vector, type, address,
                             value));
    } else {
      Emit(unit, fmt::format("{}ld{}{}{}.{} {}, {};", guard, strength, where, vector, type, value,
                             address));
    }
  }

  std::string Masked(int unit, const std::string& base, uint64_t mask) {
    Emit(unit, fmt::format("and.b32 %a2, {}, {};", Register('R'), mask));
    Emit(unit, "cvt.u64.u32 %x4, %a2;");
    Emit(unit, fmt::format("add.s64 %x4, %x4, {};", base));
    return "[%x4]";
  }

  // In the input, at a place that differs from lane to lane by a constant.
  std::string Affine(int unit, const Scope& scope, uint64_t total) {
    struct Index {
      std::string name;
      uint64_t below;
    };
    std::vector<Index> indices = {
        {"%i0", kMostThreads}, {"%i1", 32}, {"%i2", 32}, {"%i3", 8}, {"%i4", kMostThreads}};
    for (const std::string& counter : scope.counters) indices.push_back({counter, 4});
    const Index& index = indices[Below(indices.size())];
    const Index& other = indices[Below(indices.size())];
    // Strides that keep both within the input.
    const uint64_t room = kInputBytes - 2 * total;
    uint64_t stride = total * (OneIn(2) ? 1 : Below(4));
    if (stride * index.below > room) stride = total;
    uint64_t second = OneIn(2) ? total * Below(8) : 0;
    if (stride * index.below + second * other.below > room) second = 0;
    uint64_t used = stride * index.below + second * other.below;
    const bool backwards = OneIn(4);
    if (backwards && used > 0) {
      Emit(unit, fmt::format("mul.lo.s32 %a2, {}, -{};", index.name, stride));
      Emit(unit, fmt::format("mad.lo.s32 %a2, {}, -{}, %a2;", other.name, second));
      Emit(unit, "cvt.s64.s32 %x4, %a2;");
      Emit(unit, "add.s64 %x4, %x4, %x3;");
      return fmt::format("[%x4+{}]", used);
    }
    const uint64_t offset = Below((room - used) / total + 1) * total;
    switch (Below(4)) {
      case 0:
        Emit(unit, fmt::format("mad.wide.u32 %x4, {}, {}, %x3;", index.name, stride));
        break;
      case 1:
        Emit(unit, fmt::format("mul.wide.s32 %x4, {}, {};", index.name, stride));
        Emit(unit, "add.s64 %x4, %x3, %x4;");
        break;
      case 2:
        Emit(unit, fmt::format("mad.lo.s32 %a2, {}, {}, {};", index.name, stride, total));
        Emit(unit, fmt::format("sub.s32 %a2, %a2, {};", total));
        Emit(unit, "cvt.u64.u32 %x4, %a2;");
        Emit(unit, "add.s64 %x4, %x3, %x4;");
        break;
      default:
        Emit(unit, fmt::format("cvt.u64.u32 %x4, {};", index.name));
        Emit(unit, fmt::format("mad.lo.u64 %x4, %x4, {}, %x3;", stride));
    }
    if (second > 0) {
      Emit(unit, fmt::format("mul.wide.u32 %x5, {}, {};", other.name, second));
      Emit(unit, "add.s64 %x4, %x4, %x5;");
    }
    return fmt::format("[%x4+{}]", offset);
  }

  // Loops that wait (an atomic that tells what was there, a strong load) give way to other lanes
  // when nothing changes, and engines may do that at different times. A kernel has such loops, or
  // atomics whose order shows.
  void Atomic(const Scope& scope) {
    const int unit = NewUnit();
    std::string space;
    std::string address;
    if (OneIn(2)) {
      space = ".global";
      if (OneIn(2)) {
        Emit(unit, "add.s64 %x4, %x0, <atomic>;");
        address = fmt::format("[%x4+{}]", 8 * Below(kAtomicBytes / 8));
      } else {
        Emit(unit, fmt::format("and.b32 %a2, {}, {};", Register('R'), kAtomicBytes - 8));
        Emit(unit, "cvt.u64.u32 %x4, %a2;");
        Emit(unit, "add.s64 %x4, %x0, %x4;");
        Emit(unit, "add.s64 %x4, %x4, <atomic>;");
        address = "[%x4]";
      }
    } else {
      // Only the thread's own bytes: nothing orders warps before the next barrier.
      space = ".shared";
      address = fmt::format("[%i7+{}]", 8 * Below(4));
    }
    const std::vector<std::string> commuting = {"red# (add|min|max).(u32|s32) @, $r",
                                                "red# (and|or|xor).b32 @, $r",
                                                "red# (add.u64|min.s64|max.u64|and.b64) @, $d"};
    const std::vector<std::string> ordered = {"red# (inc|dec).u32 @, $r", "red# add.f32 @, $F",
                                              "red# add.f64 @, $G", "red# add.noftz.f16x2 @, $R",
                                              "red# add.noftz.bf16x2 @, $R"};
    const std::vector<std::string> vectors = {"red# add.v2.f32 @, {$F, $F}",
                                              "red# add.noftz.v2.f16x2 @, {$R, $R}",
                                              "red# max.noftz.v4.bf16 @, {$H, $H, $H, $H}"};
    const std::vector<std::string> telling = {"atom# (add|min|max).(u32|s32) $R, @, $r",
                                              "atom# (and|or|xor|exch).b32 $R, @, $r",
                                              "atom# (inc|dec).u32 $R, @, $r",
                                              "atom# cas.b32 $R, @, $r, $r",
                                              "atom# add.f32 $F, @, $F",
                                              "atom# (exch|cas1).b64 $D, @, $D",
                                              "atom# (add|max).u64 $D, @, $d"};
    std::vector<std::string> forms = commuting;
    const auto allow = [&](const std::vector<std::string>& more) {
      forms.insert(forms.end(), more.begin(), more.end());
    };
    if (!waits_in_loops_ || space == ".shared") allow(ordered);
    if (!waits_in_loops_ && space == ".global") allow(vectors);
    if (waits_in_loops_ ? space == ".shared" : scope.leave.empty()) allow(telling);
    Emit(unit, Guard() + Expand(Pick(forms)) + ";");
    std::string& text = program_.lines.back().text;
    const size_t cas = text.find("cas1");
    if (cas != std::string::npos) text.replace(cas, 4, "exch");
    text.replace(text.find("# "), 2, space + ".");
    text.replace(text.find("@,"), 1, address);
  }

  // ---- several threads

  void Exchange() {
    const int unit = NewUnit();
    Emit(unit, "bar.sync 0;");
    Emit(unit, fmt::format("st.shared.b32 [%i7], {};", Register('R')));
    Emit(unit, "bar.sync 0;");
    if (OneIn(2)) {
      Emit(unit, fmt::format("rem.u32 %a2, {}, %c60;", Register('R')));
    } else {  // a neighbour, as trees and stencils have it
      Emit(unit, fmt::format("add.u32 %a2, %i4, {};", 1u << Below(6)));
      Emit(unit, "min.u32 %a2, %a2, %c60;");
      Emit(unit, "sub.u32 %a2, %a2, 1;");
    }
    Emit(unit, "mad.lo.u32 %a2, %a2, 32, %i6;");
    Emit(unit, fmt::format("ld.shared.b32 {}, [%a2];", Register(OneIn(2) ? 'R' : 'F')));
    Emit(unit, "bar.sync 0;");
  }

  // What the block's first thread did to the mbarriers is done.
  void InitMbarrier(int unit, const std::string& count) {
    Emit(unit, "bar.sync 0;");
    Emit(unit, "setp.eq.u32 %q0, %i4, 0;");
    Emit(unit, "mov.u32 %a0, mbar;");
    Emit(unit, fmt::format("@%q0 mbarrier.init.shared::cta.b64 [%a0], {};", count));
    Emit(unit, "bar.sync 0;");
  }

  void AwaitMbarrier(int unit, const std::string& test) {
    const std::string again = NewLabel();
    Label(again);
    Emit(unit, test);
    Emit(unit, fmt::format("@!%q1 bra {};", again));
  }

  // A piece of the input comes to shared memory by an asynchronous copy, for all threads.
  void BulkIn() {
    const int unit = NewUnit();
    const uint64_t bytes = 16 * (1 + Below(16));
    InitMbarrier(unit, "1");
    Emit(unit, fmt::format("@%q0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%a0], {};", bytes));
    Emit(unit, fmt::format("@%q0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                           "[%i6+{}], [%x3+{}], {}, [%a0];",
                           16 * Below(128), 16 * Below(200), bytes));
    AwaitMbarrier(unit, "mbarrier.try_wait.parity.shared::cta.b64 %q1, [%a0], 0;");
    Emit(unit, "bar.sync 0;");
    Emit(unit, fmt::format("ld.shared.b32 {}, [%i7+{}];", Register('R'), 4 * Below(8)));
  }

  // A thread's own bytes go out by an asynchronous copy or are added to what is there.
  void BulkOut() {
    const int unit = NewUnit();
    const std::string how =
        OneIn(2) ? "cp.async.bulk.global.shared::cta.bulk_group"
                 : "cp.reduce.async.bulk.global.shared::cta.bulk_group." +
                       Choose({"add.u32", "add.u64", "min.s32", "max.u32", "and.b32", "xor.b32"});
    Emit(unit,
         fmt::format("{}{} [%x2+{}], [%i7+{}], 16;", Guard(), how, 16 * Below(4), 16 * Below(2)));
    Emit(unit, "cp.async.bulk.commit_group;");
    Emit(unit, "cp.async.bulk.wait_group 0;");
  }

  // As Exchange, by an mbarrier.
  void Rendezvous() {
    const int unit = NewUnit();
    InitMbarrier(unit, "%c60");
    Emit(unit, fmt::format("st.shared.b32 [%i7], {};", Register('R')));
    Emit(unit, "mbarrier.arrive.shared::cta.b64 %x4, [%a0];");
    AwaitMbarrier(unit, "mbarrier.test_wait.shared::cta.b64 %q1, [%a0], %x4;");
    Emit(unit, fmt::format("rem.u32 %a2, {}, %c60;", Register('R')));
    Emit(unit, "mad.lo.u32 %a2, %a2, 32, %i6;");
    Emit(unit, fmt::format("ld.shared.b32 {}, [%a2];", Register('R')));
    Emit(unit, "bar.sync 0;");
  }

  // Threads look into the memory of the other block of their cluster, and write there.
  void OtherBlock() {
    program_.clusters = true;
    const int unit = NewUnit();
    const auto barrier = [&] {
      Emit(unit, Choose({"barrier.cluster.arrive;", "barrier.cluster.arrive.release.aligned;"}));
      Emit(unit, Choose({"barrier.cluster.wait;", "barrier.cluster.wait.acquire.aligned;"}));
    };
    Emit(unit, fmt::format("st.shared.b32 [%i7], {};", Register('R')));
    barrier();
    Emit(unit, "mov.u32 %a0, %cluster_ctarank;");
    Emit(unit, "xor.b32 %a0, %a0, 1;");
    Emit(unit, "mapa.shared::cluster.u32 %a1, %i7, %a0;");
    Emit(unit, fmt::format("{}ld.shared::cluster.b32 {}, [%a1];", Guard(), Register('R')));
    Emit(unit, fmt::format("{}st.shared::cluster.b32 [%a1+{}], {};", Guard(), 4 + 4 * Below(7),
                           Register('R')));
    Emit(unit, fmt::format("{}red.shared::cluster.add.u32 [%a1+4], {};", Guard(), Register('R')));
    barrier();
  }

  void Warpgroup() {
    const int unit = NewUnit();
    Emit(unit, "bar.sync 0;");
    for (const char* descriptor : {"%x4", "%x5"}) {
      Emit(unit, "shr.u32 %a0, %i6, 4;");
      Emit(unit, fmt::format("add.u32 %a0, %a0, {};", Below(64)));
      Emit(unit, fmt::format("cvt.u64.u32 {}, %a0;", descriptor));
      const uint64_t bits = (1 + Below(16)) << 16 | (1 + Below(16)) << 32 | Below(4) << 62;
      Emit(unit, fmt::format("or.b64 {0}, {0}, {1};", descriptor, bits));
    }
    Emit(unit, "wgmma.fence.sync.aligned;");
    Emit(unit, Expand(Pick(WarpgroupPatterns())) + ";");
    Emit(unit, "wgmma.commit_group.sync.aligned;");
    Emit(unit, "wgmma.wait_group.sync.aligned 0;");
    Emit(unit, "bar.sync 0;");
  }

  // Nobody has exited, and the others of the block come here as well.
  void AllThreads(const Scope& scope) {
    switch (Below(scope.depth == 0 ? 5 : 4)) {
      case 0:
        return BulkIn();
      case 1:
        return Rendezvous();
      case 2:
      case 3:
        return Warpgroup();
      default:
        return OtherBlock();
    }
  }

  void Together(const Scope& scope) {
    const int unit = NewUnit();
    if (scope.together && OneIn(4)) {
      Emit(unit, Expand(Choose({"bar.sync 0", "barrier.sync 1", "bar.red.popc.u32 $R, 0, (|!)$P",
                                "bar.red.(and|or).pred $P, 0, (|!)$P", "bar.sync 2"})) +
                     ";");
      return;
    }
    if (scope.together && OneIn(4)) {
      if (OneIn(2)) {
        Emit(unit, Expand(Pick(MatrixPatterns())) + ";");
        return;
      }
      Emit(unit, "and.b32 %a2, %i4, -32;");
      Emit(unit, "mad.lo.u32 %a2, %a2, 32, %i6;");
      Emit(unit, Expand(Pick(MatrixAccessPatterns())) + ";");
      return;
    }
    const std::string_view pattern = Pick(WarpPatterns());
    if (scope.together && !OneIn(3)) {
      Emit(unit, Expand(pattern) + ";");
      return;
    }
    Emit(unit, "activemask.b32 %a1;");
    Emit(unit, Expand(pattern, "%a1") + ";");
  }

  // ---- control flow

  void Body(const Scope& scope, uint64_t most) {
    for (uint64_t i = 1 + Below(most); i > 0; --i) Statement(scope);
  }

  // A branch that all lanes of the block take or none; or one of each lane's own.
  std::string Condition(int unit, bool uniform) {
    if (!uniform) return (OneIn(2) ? "@" : "@!") + Register('P');
    Emit(unit, fmt::format("setp.{}.u32 %q0, %u{}, {};", Choose({"lt", "ge", "eq", "ne"}), Below(4),
                           Below(6)));
    return OneIn(2) ? "@%q0" : "@!%q0";
  }

  void If(Scope scope) {
    const bool uniform = scope.together && OneIn(3);
    const int unit = NewUnit();
    const std::string condition = Condition(unit, uniform);
    scope.together = uniform;
    ++scope.depth;
    const std::string end = NewLabel();
    if (OneIn(2)) {
      Emit(unit, fmt::format("{} bra {};", condition, end));
      Body(scope, 4);
      return Label(end);
    }
    const std::string other = NewLabel();
    Emit(unit, fmt::format("{} bra {};", condition, other));
    Body(scope, 3);
    Emit(unit, fmt::format("bra {};", end));
    Label(other);
    Body(scope, 3);
    Label(end);
  }

  void Loop(Scope scope) {
    if (counters_ >= 50) return;
    const bool uniform = scope.together && OneIn(2);
    const int unit = NewUnit();
    const std::string counter = fmt::format("%c{}", counters_++);
    const std::string begin = NewLabel();
    scope.leave = NewLabel();
    scope.next = NewLabel();
    scope.together = uniform;
    ++scope.depth;
    if (uniform) {
      Emit(unit, fmt::format("mov.u32 {}, 0;", counter));
      scope.counters.push_back(counter);
    } else {
      Emit(unit, fmt::format("and.b32 {}, {}, 3;", counter, Register('R')));
    }
    const bool first = OneIn(2);  // tests before it begins
    Label(begin);
    if (first && !uniform) {
      Emit(unit, fmt::format("setp.eq.s32 %q1, {}, 0;", counter));
      Emit(unit, fmt::format("@%q1 bra {};", scope.leave));
    }
    Body(scope, 4);
    Label(scope.next);
    if (uniform) {
      Emit(unit, fmt::format("add.u32 {0}, {0}, 1;", counter));
      Emit(unit, fmt::format("setp.lt.u32 %q1, {}, {};", counter, 1 + Below(4)));
      Emit(unit, fmt::format("@%q1 bra {};", begin));
    } else {
      Emit(unit, fmt::format("sub.s32 {0}, {0}, 1;", counter));
      if (first) {
        Emit(unit, fmt::format("bra {};", begin));
      } else {
        Emit(unit, fmt::format("setp.ge.s32 %q1, {}, 0;", counter));
        Emit(unit, fmt::format("@%q1 bra {};", begin));
      }
    }
    Label(scope.leave);
  }

  // Two forward branches that cross.
  void Crossing(Scope scope) {
    scope.together = false;
    ++scope.depth;
    const std::string first = NewLabel();
    const std::string second = NewLabel();
    Emit(NewUnit(), fmt::format("@{} bra {};", Register('P'), first));
    Body(scope, 2);
    Emit(NewUnit(), fmt::format("@{} bra {};", Register('P'), second));
    Body(scope, 2);
    Label(first);
    Body(scope, 2);
    Label(second);
  }

  void Switch(Scope scope) {
    scope.together = false;
    ++scope.depth;
    const int unit = NewUnit();
    const std::string table = fmt::format("tlist{}", labels_);
    std::vector<std::string> labels;
    for (int i = 0; i < 4; ++i) labels.push_back(NewLabel());
    Emit(unit, fmt::format("{}: .branchtargets {};", table, fmt::join(labels, ", ")));
    Emit(unit, fmt::format("and.b32 %a3, {}, 3;", Register('R')));
    Emit(unit, fmt::format("brx.idx %a3, {};", table));
    for (int i = 0; i < 3; ++i) {
      Label(labels[static_cast<size_t>(i)]);
      Body(scope, 2);
      if (OneIn(2)) Emit(unit, fmt::format("bra {};", labels[3]));
    }
    Label(labels[3]);
  }

  void Call() {
    const int unit = NewUnit();
    Emit(unit, "{ .param .b32 p0; .param .b32 p1; .param .b32 q;");
    Emit(unit, fmt::format("st.param.b32 [p0], {};", Register('R')));
    Emit(unit, fmt::format("st.param.b32 [p1], {};", Register('R')));
    Emit(unit, "call (q), twist, (p0, p1);");
    Emit(unit, fmt::format("ld.param.b32 {}, [q]; }}", Register('R')));
  }

  void Carry() {
    const int unit = NewUnit();
    const std::string guard = Guard();
    const std::string_view chain = Pick(std::vector<std::string_view>{
        "add.cc.u32 $R, $R, $r;addc.cc.u32 $R, $R, $R;addc.u32 $R, $R, 0;",
        "sub.cc.u32 $R, $R, $r;subc.cc.u32 $R, $R, $R;subc.u32 $R, $R, $r;",
        "mad.lo.cc.u32 $R, $R, $R, $R;madc.hi.cc.u32 $R, $R, $R, $R;addc.u32 $R, 0, 0;",
        "add.cc.u64 $D, $D, $D;addc.u64 $D, $D, $d;"});
    for (size_t from = 0; from < chain.size();) {
      const size_t end = chain.find(';', from);
      Emit(unit, guard + Expand(chain.substr(from, end - from)) + ";");
      from = end + 1;
    }
  }

  void Statement(const Scope& scope) {
    const uint64_t kind = Below(100);
    if (kind < 22) return Access(scope);
    if (kind < 25) return Atomic(scope);
    if (kind < 33) return Together(scope);
    if (kind < 36 && scope.together) {
      return OneIn(2) && waits_in_loops_ && !exits_ ? AllThreads(scope) : Exchange();
    }
    if (kind < 36 && OneIn(2)) return BulkOut();
    if (scope.depth < 3) {
      if (kind < 42) return If(scope);
      if (kind < 46 && scope.depth < 2) return Loop(scope);
      if (kind == 46) return Crossing(scope);
      if (kind == 47 && OneIn(2)) return Switch(scope);
    }
    if (kind == 48) return Carry();
    if (kind == 49 && OneIn(2)) return Call();
    if (kind == 50 && OneIn(4)) {
      exits_ = true;
      Emit(NewUnit(), fmt::format("@{} {};", Register('P'), OneIn(2) ? "exit" : "ret"));
      return;
    }
    if (kind == 51 && scope.together) {
      Emit(NewUnit(),
           fmt::format("{}.u32 %u{}, %u{}, %u{};", Choose({"add", "sub", "mul.lo", "min"}),
                       Below(4), Below(4), Below(4)));
      return;
    }
    if (kind < 54 && !scope.leave.empty() && !scope.together) {
      Emit(NewUnit(),
           fmt::format("@{} bra {};", Register('P'), OneIn(2) ? scope.leave : scope.next));
      return;
    }
    Calculate();
  }

  void Calculate() {
    const auto& groups = Arithmetic();
    int all = 0;
    for (const PatternGroup& group : groups) all += group.weight;
    int at = static_cast<int>(Below(static_cast<uint64_t>(all)));
    for (const PatternGroup& group : groups) {
      at -= group.weight;
      if (at >= 0) continue;
      const std::string guard = Guard();
      Emit(NewUnit(), guard + Expand(Pick(group.patterns)) + ";");
      return;
    }
  }

  Rng rng_;
  GeneratorOptions options_;
  Program program_;
  bool faulty_ = false;
  bool waits_in_loops_ = false;
  bool exits_ = false;  // some threads may have
  int units_ = 0;
  int labels_ = 0;
  int counters_ = 0;
};

}  // namespace

Program Generate(uint64_t seed, const GeneratorOptions& options) {
  return Generator(seed, options).Run();
}

}  // namespace kernelsmith::fuzz
