#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "ptx/ptx.h"

namespace kernelsmith::ptx {
namespace {

constexpr char kHeader[] = ".version 8.0\n.target sm_90\n.address_size 64\n";

Module ParseOk(const std::string& text) {
  Result<Module> module = Parse(kHeader + text, "test.ptx");
  EXPECT_TRUE(module.ok()) << (module.ok() ? "" : module.error().Format());
  return module.ok() ? *std::move(module) : Module{};
}

// The instructions of a function whose registers are declared for it.
Module ParseBody(const std::string& body) {
  return ParseOk(
      ".global .align 8 .b8 data[64];\n.entry k(.param .u64 p)\n{\n"
      ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<8>;\n" +
      body + "\n}\n");
}

int64_t ConstantOf(const std::string& expression) {
  const Module module = ParseBody("mov.b64 %d0, " + expression + ";");
  if (module.functions.empty()) return -999;
  const Operand& operand = module.functions[0].instructions[0].operands[1];
  EXPECT_EQ(operand.kind, OperandKind::kInteger) << expression;
  return operand.integer;
}

TEST(ParserTest, HeaderIsRead) {
  const Result<Module> module =
      Parse(".version 7.4\n.target sm_80, debug\n.address_size 64\n", "a.ptx");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->version, (Version{7, 4}));
  EXPECT_EQ(module->target, "sm_80");
  EXPECT_EQ(module->target_options, std::vector<std::string>{"debug"});
  EXPECT_EQ(module->file_name, "a.ptx");
}

TEST(ParserTest, ConstantExpressionsFollowC) {
  EXPECT_EQ(ConstantOf("2 + 3 * 4"), 14);
  EXPECT_EQ(ConstantOf("(2 + 3) * 4"), 20);
  EXPECT_EQ(ConstantOf("-7 / 2"), -3);
  EXPECT_EQ(ConstantOf("-7 % 3"), -1);
  EXPECT_EQ(ConstantOf("1 << 4 | 3"), 19);
  EXPECT_EQ(ConstantOf("-16 >> 2"), -4);
  EXPECT_EQ(ConstantOf("0xfffffffffffffff0U >> 60"), 15);
  EXPECT_EQ(ConstantOf("~0"), -1);
  EXPECT_EQ(ConstantOf("!5"), 0);
  EXPECT_EQ(ConstantOf("3 > 2 ? 10 : 20"), 10);
  EXPECT_EQ(ConstantOf("-1 < 0U"), 0);
  EXPECT_EQ(ConstantOf("-1 < 0"), 1);
  EXPECT_EQ(ConstantOf("1 && 0 || 1"), 1);
  EXPECT_EQ(ConstantOf("WARP_SZ - 1"), 31);
  EXPECT_EQ(ConstantOf("(.u64) -1 > 5"), 1);
  EXPECT_EQ(ConstantOf("9223372036854775807 + 1"), INT64_MIN);
  EXPECT_EQ(ConstantOf("(-9223372036854775807 - 1) / -1"), INT64_MIN);
  EXPECT_EQ(ConstantOf("1.5 < 2.0"), 1);
}

TEST(ParserTest, InitialisersBecomeBytes) {
  const Module module = ParseOk(
      ".global .u16 a[2][3] = {{1, 2}, {0x304}};\n"
      ".global .f32 f[] = {1.0, 0fC0000000};\n"
      ".global .s64 m = -2;\n"
      ".const .b8 s[4] = {104, 105};\n");
  ASSERT_EQ(module.variables.size(), 4u);
  EXPECT_EQ(module.variables[0].image, (std::vector<uint8_t>{1, 0, 2, 0, 0, 0, 4, 3}));
  EXPECT_EQ(module.variables[0].Size(), 12u);
  EXPECT_EQ(module.variables[1].image, (std::vector<uint8_t>{0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0}));
  EXPECT_EQ(module.variables[1].dimensions, std::vector<uint64_t>{2});
  EXPECT_EQ(module.variables[2].image,
            (std::vector<uint8_t>{254, 255, 255, 255, 255, 255, 255, 255}));
  EXPECT_EQ(module.variables[3].image, (std::vector<uint8_t>{104, 105}));
  EXPECT_EQ(module.variables[3].Size(), 4u);
}

TEST(ParserTest, AddressesAreRelocations) {
  const Module module = ParseOk(
      ".global .u32 x;\n.global .u64 p[3] = {x, generic(x)+8, 5};\n"
      ".global .u8 b[2] = {0xff(x), 0xff00(x)};\n");
  const std::vector<Relocation>& whole = module.variables[1].relocations;
  ASSERT_EQ(whole.size(), 2u);
  EXPECT_EQ(whole[0].name, "x");
  EXPECT_FALSE(whole[0].generic);
  EXPECT_EQ(whole[1].offset, 8u);
  EXPECT_EQ(whole[1].addend, 8);
  EXPECT_TRUE(whole[1].generic);
  EXPECT_EQ(module.variables[1].image.size(), 24u);
  EXPECT_EQ(module.variables[1].image[16], 5);
  ASSERT_EQ(module.variables[2].relocations.size(), 2u);
  EXPECT_EQ(module.variables[2].relocations[1].shift, 8);
  EXPECT_EQ(module.variables[2].relocations[1].size, 1);
}

TEST(ParserTest, MnemonicsAreDecoded) {
  const Module module = ParseBody(
      "ld.global.relaxed.gpu.v4.f32 {%f0, %f1, %f2, _}, [%d0+16];\n"
      "setp.ltu.or.ftz.f32 %p0|%p1, %f0, %f1, !%p2;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, "
      "{%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3};\n"
      "mad.wide.u16 %r0, %h0, %h1, %r1;");
  const std::vector<Instruction>& code = module.functions[0].instructions;
  const Mnemonic& load = *code[0].mnemonic;
  EXPECT_EQ(load.opcode, Opcode::kLd);
  EXPECT_EQ(load.SpaceAt(0), Space::kGlobal);
  EXPECT_EQ(load.semantics, Semantics::kRelaxed);
  EXPECT_EQ(load.scope, Scope::kGpu);
  EXPECT_EQ(load.vector_width, 4);
  EXPECT_EQ(load.LastType(), Type::kF32);
  EXPECT_EQ(code[0].operands[0].elements[3].kind, OperandKind::kSink);
  EXPECT_EQ(code[0].operands[1].elements[0].integer, 16);
  const Mnemonic& compare = *code[1].mnemonic;
  EXPECT_EQ(compare.comparison, Comparison::kLtu);
  EXPECT_EQ(compare.bool_op, BoolOp::kOr);
  EXPECT_TRUE(compare.ftz);
  EXPECT_EQ(code[1].operands[0].kind, OperandKind::kPair);
  EXPECT_TRUE(code[1].operands[3].negated);
  const Mnemonic& mma = *code[2].mnemonic;
  EXPECT_EQ(mma.shape, (MatrixShape{16, 8, 8}));
  EXPECT_EQ(mma.types, (std::vector<Type>{Type::kF32, Type::kTf32, Type::kTf32, Type::kF32}));
  EXPECT_EQ(code[3].mnemonic->half, ResultHalf::kWide);
}

TEST(ParserTest, NamesResolveToTheInnermostDeclaration) {
  const Module module = ParseBody(
      "mov.u32 %r3, 1;\n{ .reg .u32 %r3; mov.u32 %r3, 2;\nL: bra L; }\nL: mov.u64 %d1, data;\n"
      "bra L;");
  const Function& function = module.functions[0];
  const auto symbol = [&](size_t i, size_t operand) {
    return function.instructions[i].operands[operand].symbol;
  };
  EXPECT_EQ(symbol(0, 0), (Symbol{SymbolKind::kRegister, 2, 3}));
  EXPECT_EQ(symbol(1, 0), (Symbol{SymbolKind::kRegister, 5, 0}));
  EXPECT_EQ(symbol(2, 0), (Symbol{SymbolKind::kLabel, 0, 0}));
  EXPECT_EQ(symbol(3, 1), (Symbol{SymbolKind::kGlobalVariable, 0, 0}));
  EXPECT_EQ(symbol(4, 0), (Symbol{SymbolKind::kLabel, 1, 0}));
  // The label's statement is the one behind the block.
  EXPECT_EQ(function.body[function.labels[1].statement].kind, StatementKind::kLabel);
}

TEST(ParserTest, CallsHaveParts) {
  const Module module = ParseOk(
      ".func (.param .b32 r) f(.param .b32 a, .param .b32 b) { ret; }\n.func g() { ret; }\n"
      ".entry k() { .param .b32 x; .param .b32 y; .param .b32 z; .reg .b64 %d;\n"
      "P: .callprototype _ ();\n"
      "call (x), f, (y, z); call g; call.uni %d, P; }\n");
  const std::vector<Instruction>& code = module.functions[2].instructions;
  const CallParts first = PartsOfCall(code[0]);
  ASSERT_NE(first.returns, nullptr);
  EXPECT_EQ(first.target->symbol, (Symbol{SymbolKind::kFunction, 0, 0}));
  EXPECT_EQ(first.parameters->elements.size(), 2u);
  EXPECT_EQ(first.prototype, nullptr);
  EXPECT_EQ(PartsOfCall(code[1]).parameters, nullptr);
  // `call %d, P`: without a parameter list the prototype follows the target.
  EXPECT_EQ(PartsOfCall(code[2]).prototype->symbol.kind, SymbolKind::kPrototype);
}

TEST(ParserTest, LinesOfTheSourceReachInstructions) {
  const Module module = ParseBody(
      "mov.u32 %r0, 1;\n.loc 1 7 3\nmov.u32 %r0, 2;\n"
      ".loc 2 8 4, function_name $L_f, inlined_at 1 9 5\nmov.u32 %r0, 3;");
  const Function& function = module.functions[0];
  EXPECT_EQ(function.instructions[0].loc, -1);
  EXPECT_EQ(function.locs[static_cast<size_t>(function.instructions[1].loc)].line, 7u);
  const Loc& inlined = function.locs[static_cast<size_t>(function.instructions[2].loc)];
  EXPECT_TRUE(inlined.inlined);
  EXPECT_EQ(inlined.function_name, "$L_f");
  EXPECT_EQ(inlined.inlined_line, 9u);
  EXPECT_EQ(function.instructions[1].where.line, 10);
}

TEST(ParserTest, DefinitionsAreFoundBeforeDeclarations) {
  const Module module = ParseOk(
      ".extern .func f(); .func f() { ret; }\n.extern .global .u32 v; .visible .global .u32 v;");
  EXPECT_TRUE(module.FindFunction("f")->is_definition);
  EXPECT_EQ(module.FindVariable("v")->linkage, Linkage::kVisible);
  EXPECT_EQ(module.FindFunction("nothing"), nullptr);
}

TEST(ParserTest, SeveralErrorsARunWithTheirPlaces) {
  const Result<Module> module = Parse(std::string(kHeader) +
                                          ".entry k()\n{\n  .reg .b32 %r<2>;\n"
                                          "  frobnicate.u32 %r0, {%r1, %r1};\n"
                                          "  add.u32 %r0 %r1, 1;\n"
                                          "  add.foo %r0, %r1, 1;\n  ret;\n}\n",
                                      "k.ptx");
  ASSERT_FALSE(module.ok());
  const std::vector<Diagnostic>& found = module.error().diagnostics();
  ASSERT_EQ(found.size(), 3u) << module.error().Format();
  EXPECT_EQ(found[0].where, (SourceLocation{"k.ptx", 7, 3}));
  EXPECT_EQ(found[0].message, "unknown instruction 'frobnicate'");
  EXPECT_EQ(found[0].source_line, "  frobnicate.u32 %r0, {%r1, %r1};");
  EXPECT_EQ(found[1].where, (SourceLocation{"k.ptx", 8, 15}));
  EXPECT_EQ(found[1].message, "expected ';', found '%r1'");
  EXPECT_EQ(found[2].where, (SourceLocation{"k.ptx", 9, 6}));
  EXPECT_EQ(found[2].message, "instruction 'add' has no modifier '.foo'");
}

TEST(ParserTest, UnknownInstructionsAloneAreUnsupported) {
  const auto kind = [](const char* body) {
    return Parse(std::string(kHeader) + ".entry k() { " + body + " }", "k.ptx").error().kind();
  };
  EXPECT_EQ(kind("newthing.u32; ret;"), ErrorKind::kUnsupported);
  EXPECT_EQ(kind("newthing.u32; ret [;"), ErrorKind::kInvalidInput);
}

TEST(ParserTest, HostileSizesAreRefused) {
  const auto message = [](const std::string& text) -> std::string {
    const Result<Module> module = Parse(kHeader + text, "k.ptx");
    return module.ok() ? "ok" : module.error().message();
  };
  EXPECT_EQ(message(".global .b8 x[1099511627777];"), "array is too large");
  EXPECT_EQ(message(".global .b64 x[4294967296][4294967296][4294967296];"), "array is too large");
  EXPECT_EQ(message(".global .b8 x[2][1000000000] = {{1}, {2}};"), "initialiser is too large");
  EXPECT_EQ(message(".entry k() { .reg .b32 %r<4000000000>; }"), "too many names");
  EXPECT_EQ(message(".global .u32 x = " + std::string(100000, '(') + "1;"),
            "constant expression is nested too deeply");
  EXPECT_EQ(message(".global .u32 x = " + std::string(100000, '-') + "1;"),
            "constant expression is nested too deeply");
  EXPECT_EQ(message(".entry k() " + std::string(100000, '{')), "blocks are nested too deeply");
  EXPECT_EQ(message(".entry k() { mov.b32 " + std::string(100000, '{') + " ; }"),
            "operand is nested too deeply");
  std::string ternary = "1";
  for (int i = 0; i < 10000; ++i) ternary += "?1:1";
  EXPECT_EQ(message(".global .u32 x = " + ternary + ";"),
            "constant expression is nested too deeply");
}

TEST(PrinterTest, InstructionsPrintAsTheyAreWritten) {
  for (const char* text :
       {"@!%p1 ld.global.v2.f32 {%f1, _}, [%d0+-8];", "setp.lt.s32 %p1|%p2, %r1, -5;",
        "shfl.sync.up.b32 %r1|%p1, %r2, 1, 0, -1;", "mov.b64 {%r1, %r2}, %d1;",
        "add.f32 %f1, %f2, 0f3F800000;", "mov.u32 %r1, %ctaid.y;", "ret;"}) {
    const Module module = ParseBody(text);
    EXPECT_EQ(Print(module.functions[0].instructions[0]), text);
  }
}

}  // namespace
}  // namespace kernelsmith::ptx
