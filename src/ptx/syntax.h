// The syntax tree of a PTX module, as written, with names resolved to declarations. It says nothing
// about what instructions do: that is src/vgpu's.
//
// The tree is flat where PTX nests: a function's body is one list of statements in which blocks are
// a begin and an end, so that no walk over it recurses. Registers, variables and labels of all
// blocks stand in tables of the function; operands name them by index.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/types.h"

namespace kernelsmith::ptx {

// A place in the PTX text, counted from 1. The file's name is Module::file_name.
struct Position {
  int line = 0;
  int column = 0;
  bool operator==(const Position&) const = default;
};

// What a name stands for, found by the parser's scopes (inner blocks hide outer ones).
enum class SymbolKind : uint8_t {
  kNone,
  kRegister,        // index: Function::registers; number: n of %r<n>, 0 for a plain register
  kLocalVariable,   // index: Function::variables (.local .shared .param .const .global in a body)
  kParameter,       // index: Function::parameters
  kReturn,          // index: Function::returns
  kLabel,           // index: Function::labels
  kTargetList,      // index: Function::target_lists (.branchtargets, .calltargets)
  kPrototype,       // index: Function::prototypes (.callprototype)
  kGlobalVariable,  // index: Module::variables
  kFunction,        // index: Module::functions
};

struct Symbol {
  SymbolKind kind = SymbolKind::kNone;
  uint32_t index = 0;
  uint32_t number = 0;
  bool operator==(const Symbol&) const = default;
};

// ---- declarations ---------------------------------------------------------------------------

enum class Linkage : uint8_t { kNone, kExtern, kVisible, kWeak, kCommon };

// An initial value that is an address: the bytes at `offset` of the variable's image.
struct Relocation {
  uint64_t offset = 0;
  int size = 8;          // bytes
  std::string name;      // a variable or a function of the module
  int64_t addend = 0;    // in bytes
  bool generic = false;  // generic(name): the generic address, else the address in its state space
  int shift = 0;         // 0xFF00(name): the bits from `shift` on; else 0
  Position where;
  bool operator==(const Relocation& other) const;  // apart from `where`
};

// `.shared .align 16 .b8 tile[4][128]`, `.param .u64 .ptr .global .align 4 p`, `.const .f32 c =
// 0f3F800000`.
struct Variable {
  Position where;
  std::string name;  // "_" in prototypes
  Linkage linkage = Linkage::kNone;
  Space space = Space::kNone;
  int const_bank = -1;   // .const[2], or -1
  int alignment = 0;     // bytes; 0: not given, see AlignmentOf()
  bool managed = false;  // .attribute(.managed)
  bool unified = false;  // .attribute(.unified(a, b))
  uint64_t unified_id[2] = {0, 0};
  Type type = Type::kNone;
  int vector_width = 1;  // .v2 .v4 .v8
  // Empty: a scalar. 0 as first dimension: size not given (`.extern .shared .b8 s[]`, or given by
  // the initialiser, in which case it has been filled in).
  std::vector<uint64_t> dimensions;
  bool parameterized = false;  // declared as `x<count>`: x0, x1 ...
  uint64_t count = 1;
  // .ptr of kernel parameters.
  bool is_pointer = false;
  Space pointer_space = Space::kNone;
  int pointer_alignment = 0;
  // The first bytes of the variable, little endian; bytes beyond are 0.
  bool has_initializer = false;
  std::vector<uint8_t> image;
  std::vector<Relocation> relocations;
  // Fields of an opaque .texref, .samplerref or .surfref: `{ normalized_coords = 1, ... }` as text.
  std::string opaque_initializer;

  // Bytes of one variable; 0 for an unsized array.
  uint64_t Size() const;
  // The declared alignment, or the natural one of the type (times the vector width).
  int Alignment() const;
};

// `.reg .b32 %r<5>;` declares five, `.reg .v4 .f32 v;` one.
struct Register {
  Position where;
  std::string name;  // without the number: "%r"
  Type type = Type::kNone;
  int vector_width = 1;
  bool parameterized = false;
  uint32_t count = 1;
};

struct Label {
  Position where;
  std::string name;
  uint32_t statement = 0;  // index in Function::body of its kLabel statement
};

// `.branchtargets a, b;` and `.calltargets f, g;`, with the label before it as its name.
struct TargetList {
  Position where;
  std::string name;
  bool calls = false;
  struct Target {
    Position where;
    std::string name;
    Symbol symbol;  // kLabel or kFunction
  };
  std::vector<Target> targets;
};

// `name: .callprototype (.param .b32 _) _ (.param .b64 _);`
struct Prototype {
  Position where;
  std::string name;
  std::vector<Variable> returns;
  std::vector<Variable> parameters;
  bool noreturn = false;
  int abi_preserve = -1;
  int abi_preserve_control = -1;
};

// `.loc file line column {, function_name label {+ offset}, inlined_at file line column}`
struct Loc {
  Position where;
  uint32_t file = 0;
  uint32_t line = 0;
  uint32_t column = 0;
  bool inlined = false;
  std::string function_name;  // a label in .debug_str
  int64_t function_name_offset = 0;
  uint32_t inlined_file = 0;
  uint32_t inlined_line = 0;
  uint32_t inlined_column = 0;
};

// ---- instructions ---------------------------------------------------------------------------

enum class Opcode : uint16_t {
#define PTX_OPCODE(id, ...) k##id,
#include "ptx/instructions.def"
};
std::string_view NameOf(Opcode opcode);

// An instruction's name with all its modifiers, decoded. Instructions with the same text share one.
struct Mnemonic {
  std::string text;  // "ld.global.v4.f32"
  Opcode opcode = Opcode::kAdd;
  std::vector<Modifier> modifiers;  // in the order written

  // The same by meaning; kNone where not given.
  std::vector<Type> types;    // in the order written: cvt.rn.f16.f32 has {kF16, kF32}
  std::vector<Space> spaces;  // cp.async.bulk.shared::cluster.global has two
  Rounding rounding = Rounding::kNone;
  Comparison comparison = Comparison::kNone;
  BoolOp bool_op = BoolOp::kNone;  // the boolean operation of setp and set
  Scope scope = Scope::kNone;
  Semantics semantics = Semantics::kNone;
  CacheOp cache_op = CacheOp::kNone;
  ResultHalf half = ResultHalf::kNone;
  int vector_width = 1;  // .v2 .v4 .v8
  bool ftz = false;
  bool sat = false;        // .sat
  bool satfinite = false;  // .satfinite
  bool relu = false;
  bool approx = false;
  bool carry = false;  // .cc
  MatrixShape shape;

  bool Has(Modifier modifier) const;
  // The i-th type, kNone if there are fewer.
  Type TypeAt(size_t i) const { return i < types.size() ? types[i] : Type::kNone; }
  // The last type: for most instructions, that of the sources.
  Type LastType() const { return types.empty() ? Type::kNone : types.back(); }
  Space SpaceAt(size_t i) const { return i < spaces.size() ? spaces[i] : Space::kNone; }
};

enum class OperandKind : uint8_t {
  kName,             // register, variable, function, label, target list: see `symbol`
  kSpecialRegister,  // %tid.x, %laneid, %envreg3: name with its component
  kInteger,          // `integer`
  kFloat,            // `bits`
  kAddress,          // [base + offset] or [base, x, {y, z}]; see Operand::elements
  kVector,           // {a, b, _}
  kPair,             // a|b
  kList,             // (a, b): parameters of call
  kSink,             // _
};

// .b0 .. .b3, .h0, .h1 of the video instructions, .x .y .z .w (also .r .g .b .a) of vector
// registers.
// kMask: several bytes or halves (.b3210, .h10) of the packed video instructions, in
// Operand::integer as hexadecimal digits behind a leading 1 for bytes (0x13210), 2 for halves
// (0x210).
enum class Selector : uint8_t { kNone, kB0, kB1, kB2, kB3, kH0, kH1, kX, kY, kZ, kW, kMask };

struct Operand {
  Position where;
  OperandKind kind = OperandKind::kSink;
  Selector selector = Selector::kNone;
  bool negated = false;      // !p
  bool is_unsigned = false;  // kInteger: written with U, or beyond the signed range
  bool is_single =
      false;  // kFloat: 0f form, the low 32 of `bits` are a float; else all are a double
  bool has_index = false;  // kName: a[3], the array element's index in `integer`
  Symbol symbol;           // kName
  std::string name;        // kName, kSpecialRegister; kAddress: ".unified" if behind the ']'
  int64_t integer = 0;     // kInteger (bit pattern if unsigned); kName: byte offset of `x+4`
  uint64_t bits = 0;       // kFloat
  // kVector, kPair, kList: the parts. kAddress: first the base (a kName, which carries the offset,
  // or a kInteger), then whatever follows it after commas (coordinates, sampler, second registers).
  std::vector<Operand> elements;

  bool IsRegister() const {
    return kind == OperandKind::kName && symbol.kind == SymbolKind::kRegister;
  }
};

struct Guard {
  bool negated = false;  // @!p
  std::string name;      // the predicate register; empty: the instruction always runs
  Symbol symbol;
  explicit operator bool() const { return !name.empty(); }
};

struct Instruction {
  Position where;
  int32_t loc = -1;  // the .loc in force: index in Function::locs, or -1
  Guard guard;
  std::shared_ptr<const Mnemonic> mnemonic;  // never null
  std::vector<Operand> operands;             // in the order written, [d] first

  Opcode opcode() const { return mnemonic->opcode; }
  bool Has(Modifier modifier) const { return mnemonic->Has(modifier); }
};

// The parts of `call (ret), target, (params), prototype_or_targets`; null where not given.
struct CallParts {
  const Operand* returns = nullptr;     // kList
  const Operand* target = nullptr;      // kName: a function or a register
  const Operand* parameters = nullptr;  // kList
  const Operand* prototype = nullptr;   // kName: kPrototype, kTargetList
};
CallParts PartsOfCall(const Instruction& call);

// ---- bodies ---------------------------------------------------------------------------------

enum class StatementKind : uint8_t {
  kInstruction,  // index: Function::instructions
  kLabel,        // index: Function::labels
  kRegister,     // index: Function::registers
  kVariable,     // index: Function::variables
  kTargetList,   // index: Function::target_lists
  kPrototype,    // index: Function::prototypes
  kPragma,       // index: Function::pragmas
  kLoc,          // index: Function::locs
  kBlockBegin,   // {
  kBlockEnd,     // }
};

struct Statement {
  StatementKind kind = StatementKind::kInstruction;
  uint32_t index = 0;
  bool operator==(const Statement&) const = default;
};

// Limits and hints of an .entry or .func.
struct FunctionDirectives {
  std::vector<uint32_t> maxntid;  // 1 to 3 numbers, empty: not given
  std::vector<uint32_t> reqntid;
  std::optional<uint32_t> minnctapersm;
  std::optional<uint32_t> maxnctapersm;
  std::optional<uint32_t> maxnreg;
  std::vector<uint32_t> reqnctapercluster;
  std::optional<uint32_t> maxclusterrank;
  bool explicitcluster = false;
  bool blocksareclusters = false;
  bool noreturn = false;
  std::optional<uint32_t> abi_preserve;
  std::optional<uint32_t> abi_preserve_control;
  std::vector<std::string> pragmas;  // between header and body
  bool operator==(const FunctionDirectives&) const = default;
};

struct Function {
  Position where;
  std::string name;
  bool is_entry = false;
  bool is_definition = false;  // has a body; false: a declaration
  Linkage linkage = Linkage::kNone;
  bool unified = false;  // .attribute(.unified(a, b))
  uint64_t unified_id[2] = {0, 0};
  std::vector<Variable> returns;  // space kParam, or kReg in old code
  std::vector<Variable> parameters;
  FunctionDirectives directives;

  // `body` is the order; what it points to stands in the tables below.
  std::vector<Statement> body;
  std::vector<Instruction> instructions;
  std::vector<Register> registers;
  std::vector<Variable> variables;
  std::vector<Label> labels;
  std::vector<TargetList> target_lists;
  std::vector<Prototype> prototypes;
  std::vector<std::string> pragmas;
  std::vector<Loc> locs;
};

// ---- modules --------------------------------------------------------------------------------

// `.file 1 "kernel.cu", 1700000000, 4096`
struct FileEntry {
  uint32_t index = 0;
  std::string name;
  std::optional<uint64_t> time;
  std::optional<uint64_t> size;
  bool operator==(const FileEntry&) const = default;
};

// `.alias fnew, fold;`
struct Alias {
  Position where;
  std::string name;
  std::string target;
};

// `.section .debug_str { ... }`: debug information, kept as text between the braces.
struct Section {
  Position where;
  std::string name;
  std::string text;
};

enum class ItemKind : uint8_t { kVariable, kFunction, kAlias, kFile, kSection, kPragma };

struct Item {
  ItemKind kind = ItemKind::kVariable;
  uint32_t index = 0;
  bool operator==(const Item&) const = default;
};

struct Version {
  int major = 0;
  int minor = 0;
  auto operator<=>(const Version&) const = default;
};

struct Module {
  std::string file_name;
  Version version;
  std::string target;                       // "sm_90a"
  std::vector<std::string> target_options;  // "debug", "texmode_independent", ...
  int address_size = 64;                    // bits

  std::vector<Item> items;  // the order of what follows
  std::vector<Variable> variables;
  // A name may be declared several times; the definition, if there is one, is what symbols refer
  // to.
  std::vector<Function> functions;
  std::vector<Alias> aliases;
  std::vector<FileEntry> files;
  std::vector<Section> sections;
  std::vector<std::string> pragmas;

  // Definitions before declarations; null if there is none.
  const Function* FindFunction(std::string_view name) const;
  const Variable* FindVariable(std::string_view name) const;
  const FileEntry* FindFile(uint32_t index) const;
};

}  // namespace kernelsmith::ptx
