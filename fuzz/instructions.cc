#include "instructions.h"

namespace kernelsmith::fuzz {

// NOLINTBEGIN(bugprone-suspicious-missing-comma): long patterns are literals in pieces.

const std::vector<PatternGroup>& Arithmetic() {
  static const std::vector<PatternGroup> groups = {
      {12,  // 32-bit integers
       {
           "(add|sub|mul.lo|mul.hi|div|rem|min|max).(u32|s32) $R, $r, $r",
           "(add|sub|mul.lo).(u32|s32) $R, $r, $r",
           "(add|sub).sat.s32 $R, $r, $r",
           "mad.(lo|hi).(u32|s32) $R, $r, $r, $r",
           "mad.hi.sat.s32 $R, $r, $r, $r",
           "mul24.(lo|hi).(u32|s32) $R, $r, $r",
           "mad24.(lo|hi).(u32|s32) $R, $r, $r, $r",
           "sad.(u32|s32) $R, $r, $r, $r",
           "(and|or|xor).b32 $R, $r, $r",
           "(not|cnot|popc|clz|brev).b32 $R, $R",
           "(shl.b32|shr.u32|shr.s32|shr.b32) $R, $r, $r",
           "(shl.b32|shr.u32|shr.s32) $R, $R, $n",
           "shf.(l|r).(wrap|clamp).b32 $R, $r, $r, $r",
           "bfind(|.shiftamt).(u32|s32) $R, $R",
           "bfe.(u32|s32) $R, $r, $r, $r",
           "bfe.(u32|s32) $R, $R, $n, $n",
           "bfi.b32 $R, $r, $r, $r, $r",
           "prmt.b32 $R, $r, $r, $r",
           "prmt.b32 $R, $R, $R, (0x3210|0x7654|0x5410|0x0123|0xba98|0xf0e1)",
           "prmt.b32.(f4e|b4e|rc8|ecl|ecr|rc16) $R, $R, $R, $r",
           "lop3.b32 $R, $r, $r, $r, $8",
           "fns.b32 $R, $R, $n, (1|-1|3|-2)",
           "dp4a.(u32|s32).(u32|s32) $R, $R, $R, $R",
           "dp2a.(lo|hi).(u32|s32).(u32|s32) $R, $R, $R, $R",
           "szext.(wrap|clamp).(u32|s32) $R, $R, $r",
           "bmsk.(wrap|clamp).b32 $R, $r, $r",
           "(abs|neg).s32 $R, $R",
           "(add|min|max).(u16x2|s16x2) $R, $R, $R",
           "(min|max).relu.(s32|s16x2) $R, $R, $R",
           "vabsdiff4.u32.u32.u32.add $R, $R, $R, $R",
           "vadd.s32.s32.s32(|.sat) $R, $R, $R",
       }},
      {5,  // 16 bits
       {
           "(add|sub|mul.lo|mul.hi|div|rem|min|max).(u16|s16) $H, $h, $h",
           "mad.(lo|hi).(u16|s16) $H, $h, $h, $h",
           "(and|or|xor).b16 $H, $h, $h",
           "not.b16 $H, $H",
           "(shl.b16|shr.u16|shr.s16) $H, $h, $r",
           "(abs|neg).s16 $H, $H",
           "mul.wide.(u16|s16) $R, $h, $h",
           "mad.wide.(u16|s16) $R, $h, $h, $r",
       }},
      {6,  // 64 bits
       {
           "(add|sub|mul.lo|mul.hi|div|rem|min|max).(u64|s64) $D, $d, $d",
           "(add|sub).(u64|s64) $D, $D, $D",
           "mad.(lo|hi).(u64|s64) $D, $d, $d, $d",
           "mul.wide.(u32|s32) $D, $r, $r",
           "mad.wide.(u32|s32) $D, $r, $r, $d",
           "(and|or|xor).b64 $D, $d, $d",
           "(not|cnot|brev).b64 $D, $D",
           "(popc|clz).b64 $R, $D",
           "(shl.b64|shr.u64|shr.s64) $D, $d, $r",
           "(shl.b64|shr.u64|shr.s64) $D, $D, $n",
           "bfind(|.shiftamt).(u64|s64) $R, $D",
           "bfe.(u64|s64) $D, $d, $r, $r",
           "bfi.b64 $D, $d, $d, $r, $r",
           "sad.(u64|s64) $D, $d, $d, $d",
           "(abs|neg).s64 $D, $D",
       }},
      {10,  // f32
       {
           "(add|sub|mul)(|.rn|.rz|.rm|.rp)(|.ftz)(|.sat).f32 $F, $f, $f",
           "(add|sub|mul)(|.rn)(|.ftz).f32 $F, $F, $F",
           "fma.(rn|rz|rm|rp)(|.ftz)(|.sat).f32 $F, $f, $f, $f",
           "fma.rn.f32 $F, $F, $F, $F",
           "div.(rn|rz|rm|rp)(|.ftz).f32 $F, $f, $f",
           "div.(approx|full)(|.ftz).f32 $F, $f, $f",
           "(rcp|sqrt).(rn|rz|rm|rp|approx)(|.ftz).f32 $F, $f",
           "(rsqrt|sin|cos|lg2|ex2).approx(|.ftz).f32 $F, $f",
           "tanh.approx.f32 $F, $f",
           "(min|max)(|.ftz)(|.NaN)(|.xorsign.abs).f32 $F, $f, $f",
           "(abs|neg)(|.ftz).f32 $F, $f",
           "copysign.f32 $F, $f, $f",
           "testp.(finite|infinite|number|notanumber|normal|subnormal).f32 $P, $f",
       }},
      {5,  // f64
       {
           "(add|sub|mul)(|.rn|.rz|.rm|.rp).f64 $G, $g, $g",
           "fma.(rn|rz|rm|rp).f64 $G, $g, $g, $g",
           "(add|mul|sub).f64 $G, $G, $G",
           "div.(rn|rz|rm|rp).f64 $G, $g, $g",
           "(rcp|sqrt).(rn|rz|rm|rp).f64 $G, $g",
           "(rcp|rsqrt).approx.ftz.f64 $G, $g",
           "rsqrt.approx.f64 $G, $g",
           "(min|max).f64 $G, $g, $g",
           "(abs|neg).f64 $G, $g",
           "copysign.f64 $G, $g, $g",
           "testp.(finite|infinite|number|notanumber|normal|subnormal).f64 $P, $g",
       }},
      {4,  // f16, bf16
       {
           "(add|sub|mul)(|.rn)(|.ftz)(|.sat).f16 $H, $H, $H",
           "(add|sub|mul)(|.rn)(|.ftz)(|.sat).f16x2 $R, $R, $R",
           "fma.rn(|.ftz)(|.sat|.relu).f16 $H, $H, $H, $H",
           "fma.rn(|.ftz)(|.sat|.relu).f16x2 $R, $R, $R, $R",
           "(add|sub|mul)(|.rn).bf16 $H, $H, $H",
           "(add|sub|mul)(|.rn).bf16x2 $R, $R, $R",
           "fma.rn(|.relu).bf16 $H, $H, $H, $H",
           "fma.rn(|.relu).bf16x2 $R, $R, $R, $R",
           "(min|max)(|.ftz)(|.NaN)(|.xorsign.abs).f16 $H, $H, $H",
           "(min|max)(|.ftz)(|.NaN)(|.xorsign.abs).f16x2 $R, $R, $R",
           "(min|max)(|.NaN)(|.xorsign.abs).bf16 $H, $H, $H",
           "(min|max)(|.NaN)(|.xorsign.abs).bf16x2 $R, $R, $R",
           "(neg|abs)(|.ftz).f16 $H, $H",
           "(neg|abs)(|.ftz).f16x2 $R, $R",
           "(neg|abs).bf16 $H, $H",
           "(neg|abs).bf16x2 $R, $R",
           "ex2.approx.f16 $H, $H",
           "ex2.approx.ftz.bf16x2 $R, $R",
           "tanh.approx.(f16|bf16) $H, $H",
           "tanh.approx.(f16x2|bf16x2) $R, $R",
       }},
      {7,  // comparisons and choices
       {
           "setp.(eq|ne|lt|le|gt|ge|lo|ls|hi|hs).u32 $P, $r, $r",
           "setp.(eq|ne|lt|le|gt|ge).s32 $P, $r, $r",
           "setp.(eq|ne|lt|le|gt|ge).(s32|u32) $P|$P', $r, $r",
           "setp.(eq|ne|lt|le|gt|ge).(and|or|xor).(s32|u32) $P|$P', $r, $r, (|!)$P",
           "setp.(eq|ne|lt|le|gt|ge).(and|or|xor).f32 $P, $f, $f, (|!)$P",
           "setp.(eq|ne).b32 $P, $R, $R",
           "setp.(eq|ne).b16 $P, $H, $H",
           "setp.(eq|ne|lt|le|gt|ge).(u16|s16) $P, $h, $h",
           "setp.(eq|ne|lt|le|gt|ge).(u64|s64) $P, $d, $d",
           "setp.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)(|.ftz).f32 $P, $f, $f",
           "setp.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan).f64 $P, $g, $g",
           "setp.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan)(|.ftz).f16 $P, $H, $H",
           "setp.(eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan).bf16 $P, $H, $H",
           "setp.(eq|ne|lt|le|gt|ge|equ|neu).f16x2 $P|$P', $R, $R",
           "set.(eq|ne|lt|le|gt|ge).(u32|s32|f32).(u32|s32) $R, $r, $r",
           "set.(eq|ne|lt|ge|ltu|nan)(|.ftz).(u32|s32|f32).f32 $R, $f, $f",
           "set.(eq|lt|ge).(and|or|xor).(u32|f32).(f64) $R, $g, $g, (|!)$P",
           "selp.(b32|u32|s32) $R, $r, $r, $P",
           "selp.(b64|u64|s64) $D, $d, $d, $P",
           "selp.(b16|u16|s16) $H, $h, $h, $P",
           "selp.f32 $F, $f, $f, $P",
           "selp.f64 $G, $g, $g, $P",
           "slct(|.ftz).(b32|u32|s32).f32 $R, $r, $r, $F",
           "slct.(b64|u64|s64).s32 $D, $d, $d, $R",
           "slct.f32.s32 $F, $f, $f, $R",
           "(and|or|xor).pred $P, $P, $P",
           "not.pred $P, $P",
           "mov.pred $P, $P",
       }},
      {6,  // conversions
       {
           "cvt(|.sat).(u8|s8|u16|s16).(u8|s8|u16|s16) $H, $H",
           "cvt(|.sat).(u8|s8|u16|s16).(u32|s32) $H, $R",
           "cvt(|.sat).(u8|s8|u16|s16).(u64|s64) $H, $D",
           "cvt(|.sat).(u32|s32).(u8|s8|u16|s16) $R, $H",
           "cvt(|.sat).(u32|s32).(u32|s32) $R, $R",
           "cvt(|.sat).(u32|s32).(u64|s64) $R, $D",
           "cvt(|.sat).(u64|s64).(u8|s8|u16|s16) $D, $H",
           "cvt(|.sat).(u64|s64).(u32|s32) $D, $R",
           "cvt(|.sat).(u64|s64).(u64|s64) $D, $D",
           "cvt.(rn|rz|rm|rp).f32.(u32|s32) $F, $R",
           "cvt.(rn|rz|rm|rp).f32.(u8|s8|u16|s16) $F, $H",
           "cvt.(rn|rz|rm|rp).f32.(u64|s64) $F, $D",
           "cvt.(rn|rz|rm|rp).f64.(u32|s32) $G, $R",
           "cvt.(rn|rz|rm|rp).f64.(u64|s64) $G, $D",
           "cvt.(rn|rz|rm|rp).f16.(u32|s32) $H, $R",
           "cvt.(rni|rzi|rmi|rpi)(|.ftz)(|.sat).(u32|s32).f32 $R, $F",
           "cvt.(rni|rzi|rmi|rpi)(|.ftz)(|.sat).(u64|s64).f32 $D, $F",
           "cvt.(rni|rzi|rmi|rpi)(|.ftz)(|.sat).(u8|s8|u16|s16).f32 $H, $F",
           "cvt.(rni|rzi|rmi|rpi)(|.sat).(u32|s32).f64 $R, $G",
           "cvt.(rni|rzi|rmi|rpi)(|.sat).(u64|s64).f64 $D, $G",
           "cvt.(rni|rzi|rmi|rpi)(|.sat).(u32|s32).f16 $R, $H",
           "cvt.(rni|rzi|rmi|rpi)(|.ftz)(|.sat).f32.f32 $F, $F",
           "cvt(|.sat).(rni|rzi|rmi|rpi).f64.f64 $G, $G",
           "cvt(|.ftz)(|.sat).f64.f32 $G, $F",
           "cvt.(rn|rz|rm|rp)(|.ftz).f32.f64 $F, $G",
           "cvt.rn(|.ftz).sat.f32.f64 $F, $G",
           "cvt.(rn|rz)(|.ftz).f16.f32 $H, $F",
           "cvt.rn(|.ftz).sat.f16.f32 $H, $F",
           "cvt(|.ftz)(|.sat).f32.f16 $F, $H",
           "cvt.(rn|rz)(|.relu).bf16.f32 $H, $F",
           "cvt(|.sat).f32.bf16 $F, $H",
           "cvt.(rn|rz).f16.f64 $H, $G",
           "cvt(|.sat).f64.f16 $G, $H",
           "cvt.(rn|rz)(|.relu).(f16x2|bf16x2).f32 $R, $F, $F",
           "cvt.rna.tf32.f32 $R, $F",
           "cvt.rn.satfinite(|.relu).(e4m3x2|e5m2x2).f32 $H, $F, $F",
           "cvt.rn(|.relu).f16x2.(e4m3x2|e5m2x2) $R, $H",
           "cvt.pack.sat.(u16|s16).s32 $R, $R, $R",
           "cvt.pack.sat.(u8|s8).s32.b32 $R, $R, $R, $R",
       }},
      {4,  // moves
       {
           "mov.(b32|u32|s32) $R, $r",
           "mov.(b64|u64) $D, $d",
           "mov.b16 $H, $h",
           "mov.f32 $F, $f",
           "mov.f64 $G, $g",
           "mov.b32 $R, $F",
           "mov.b32 $F, $R",
           "mov.b64 $D, $G",
           "mov.b64 $G, $D",
           "mov.b64 $D, {$R, $R}",
           "mov.b64 {$R, $R'}, $D",
           "mov.b64 {$F, $F'}, $D",
           "mov.b64 $D, {$F, $F}",
           "mov.b32 $R, {$H, $H}",
           "mov.b32 {$H, $H'}, $R",
           "mov.b64 {$H, $H', $H', $H'}, $D",
           "mov.b64 $D, {$H, $H, $H, $H}",
           "mov.b64 {_, $R}, $D",
           "mov.u32 $R, (%tid.x|%tid.y|%tid.z|%ntid.x|%ntid.y|%ctaid.x|%ctaid.y|%nctaid.x|%laneid|"
           "%warpid|%lanemask_eq|%lanemask_lt|%lanemask_le|%lanemask_gt|%lanemask_ge)",
       }},
  };
  return groups;
}

const std::vector<std::string_view>& WarpPatterns() {
  static const std::vector<std::string_view> patterns = {
      "shfl.sync.(up|down|bfly|idx).b32 $R, $R, $n, (31|0|0x1c1f|0x181f|0x1000), $M",
      "shfl.sync.(up|down).b32 $R, $R, (1|2|4|8|16), (31|0), $M",
      "shfl.sync.bfly.b32 $R, $R, (1|2|4|8|16), 31, $M",
      "shfl.sync.bfly.b32 $F, $F, (1|2|4|8|16), 31, $M",
      "shfl.sync.idx.b32 $F, $F, (0|3|31), 31, $M",
      "shfl.sync.(up|down|bfly|idx).b32 $R|$P, $R, $r, (31|0|0x1c1f), $M",
      "shfl.sync.(up|down|bfly|idx).b32 $F, $F, $R, $r, $M",
      "vote.sync.(all|any|uni).pred $P, (|!)$P, $M",
      "vote.sync.ballot.b32 $R, (|!)$P, $M",
      "match.any.sync.(b32) $R, $R, $M",
      "match.any.sync.b64 $R, $D, $M",
      "match.all.sync.b32 $R|$P, $R, $M",
      "redux.sync.(add|min|max).(u32|s32) $R, $R, $M",
      "redux.sync.(and|or|xor).b32 $R, $R, $M",
      "activemask.b32 $R",
      "bar.warp.sync $M",
      "elect.sync $R|$P, $M",
  };
  return patterns;
}

const std::vector<std::string_view>& MatrixPatterns() {
  static const std::vector<std::string_view> patterns = {
      "mma.sync.aligned.m16n8k16.row.col.f32.(f16.f16|bf16.bf16).f32 {$F, $F', $F', $F'}, "
      "{$R, $R, $R, $R}, {$R, $R}, {$F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k8.row.col.f32.(f16.f16|bf16.bf16).f32 {$F, $F', $F', $F'}, "
      "{$R, $R}, {$R}, {$F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {$R, $R'}, {$R, $R, $R, $R}, {$R, "
      "$R}, {$R, $R}",
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {$F, $F', $F', $F'}, {$R, $R, $R, "
      "$R}, {$R, $R}, {$F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k32.row.col.f32.(e4m3|e5m2).(e4m3|e5m2).f32 {$F, $F', $F', "
      "$F'}, {$R, $R, $R, $R}, {$R, $R}, {$F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k16.row.col.s32.(s8|u8).(s8|u8).s32 {$R, $R', $R', $R'}, {$R, "
      "$R}, {$R}, {$R, $R, $R, $R}",
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32 {$F, $F', $F', $F', $F', $F', $F', "
      "$F'}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$F, $F, $F, $F, "
      "$F, $F, $F, $F}",
      "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {$R, $R', $R', $R'}, {$R, $R, $R, $R, "
      "$R, $R, $R, $R}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$R, $R, $R, $R}",
      "wmma.mma.sync.aligned.row.col.m32n8k16.f32.f32 {$F, $F', $F', $F', $F', $F', $F', "
      "$F'}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$F, $F, $F, $F, "
      "$F, $F, $F, $F}",
      "wmma.mma.sync.aligned.row.col.m8n32k16.f32.f32 {$F, $F', $F', $F', $F', $F', $F', "
      "$F'}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$R, $R, $R, $R, $R, $R, $R, $R}, {$F, $F, $F, $F, "
      "$F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f16 {$F, $F', $F', $F'}, {$R, $R, $R, $R}, "
      "{$R, $R}, {$R, $R}",
      "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {$F, $F', $F', $F'}, {$R, $R}, {$R}, "
      "{$F, $F, $F, $F}",
      "mma.sync.aligned.m8n8k4.(row|col).(row|col).f32.f16.f16.f32 {$F, $F', $F', $F', $F', $F', "
      "$F', $F'}, {$R, $R}, {$R, $R}, {$F, $F, $F, $F, $F, $F, $F, $F}",
      "mma.sync.aligned.m16n8k32.row.col.f16.(e4m3|e5m2).(e4m3|e5m2).f16 {$R, $R'}, {$R, $R, $R, "
      "$R}, {$R, $R}, {$R, $R}",
      "mma.sync.aligned.m16n8k32.row.col(|.satfinite).s32.(s8|u8).(s8|u8).s32 {$R, $R', $R', $R'}, "
      "{$R, $R, $R, $R}, {$R, $R}, {$R, $R, $R, $R}",
      "mma.sync.aligned.m16n8k32.row.col(|.satfinite).s32.(s4|u4).(s4|u4).s32 {$R, $R', $R', $R'}, "
      "{$R, $R}, {$R}, {$R, $R, $R, $R}",
      "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.(and|xor).popc {$R, $R', $R', $R'}, "
      "{$R, $R}, {$R}, {$R, $R, $R, $R}",
      "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {$G, $G'}, {$G}, {$G}, {$G, $G}",
      "wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {$F, $F', $F', $F', $F', $F', "
      "$F', $F'}, {$R, $R, $R, $R}, {$R, $R, $R, $R}, {$F, $F, $F, $F, $F, $F, $F, $F}",
      "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32 {$F, $F', $F', $F', $F', $F', "
      "$F', $F'}, {$R, $R, $R, $R}, {$R, $R, $R, $R}, {$F, $F, $F, $F, $F, $F, $F, $F}",
      "movmatrix.sync.aligned.m8n8.trans.b16 $R, $R",
  };
  return patterns;
}

const std::vector<std::string_view>& WarpgroupPatterns() {
  static const std::vector<std::string_view> patterns = {
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.(f16.f16|bf16.bf16) {$F, $F', $F', $F'}, %x4, "
      "%x5, "
      "(1|0), (1|-1), (1|-1), (0|1), (0|1)",
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.(f16.f16|bf16.bf16) {$F, $F', $F', $F'}, {$R, $R, "
      "$R, $R}, %x5, $P, (1|-1), 1, (0|1)",
      "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$F, $F', $F', $F', $F', $F', $F', $F'}, "
      "%x4, %x5, (1|0), 1, 1, (0|1), (0|1)",
      "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 {$R, $R', $R', $R'}, %x4, %x5, (1|0), 1, "
      "(1|-1), (0|1), (0|1)",
      "wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {$F, $F', $F', $F'}, %x4, %x5, $P, 1, 1",
      "wgmma.mma_async.sync.aligned.m64n8k32.(f32).(e4m3|e5m2).(e4m3|e5m2) {$F, $F', $F', $F'}, "
      "{$R, $R, $R, $R}, %x5, (1|0), 1, 1",
      "wgmma.mma_async.sync.aligned.m64n8k32(|.satfinite).s32.(s8|u8).(s8|u8) {$R, $R', $R', $R'}, "
      "%x4, %x5, (1|0)",
  };
  return patterns;
}

const std::vector<std::string_view>& MatrixAccessPatterns() {
  static const std::vector<std::string_view> patterns = {
      "ldmatrix.sync.aligned.m8n8.x1(|.trans).shared.b16 {$R}, [%i7(|+16)]",
      "ldmatrix.sync.aligned.m8n8.x2(|.trans).shared.b16 {$R, $R'}, [%i7(|+16)]",
      "ldmatrix.sync.aligned.m8n8.x4(|.trans).shared.b16 {$R, $R', $R', $R'}, [%i7(|+16)]",
      "stmatrix.sync.aligned.m8n8.x2(|.trans).shared.b16 [%i7(|+16)], {$R, $R}",
      "stmatrix.sync.aligned.m8n8.x4(|.trans).shared.b16 [%i7(|+16)], {$R, $R, $R, $R}",
      "wmma.load.(a|b).sync.aligned.(row|col).m16n16k16.shared.f16 {$R, $R', $R', $R', $R', "
      "$R', $R', $R'}, [%a2], (16|24)",
      "wmma.load.c.sync.aligned.(row|col).m16n16k16.shared.f32 {$F, $F', $F', $F', $F', $F', "
      "$F', $F'}, [%a2], 16",
      "wmma.load.c.sync.aligned.(row|col).m16n16k16.shared.f16 {$R, $R', $R', $R'}, [%a2], "
      "(16|24)",
      "wmma.store.d.sync.aligned.(row|col).m16n16k16.shared.f32 [%a2], {$F, $F, $F, $F, $F, "
      "$F, $F, $F}, 16",
      "wmma.store.d.sync.aligned.(row|col).m16n16k16.shared.f16 [%a2], {$R, $R, $R, $R}, "
      "(16|24)",
  };
  return patterns;
}

// NOLINTEND(bugprone-suspicious-missing-comma)

}  // namespace kernelsmith::fuzz
