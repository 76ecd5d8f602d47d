#include "compile/x86_instruction.h"

namespace kernelsmith {
namespace {

// The form of an opcode: what follows it. One letter for each of 256 opcodes, in rows of 16.
//   .  nothing          m  ModRM                   b  an immediate of 1 byte
//   B  ModRM and byte   z  2 or 4 bytes            Z  ModRM and 2 or 4 bytes
//   v  2, 4 or 8 bytes  w  2 bytes                 e  3 bytes (enter)
//   r  jump by 1 byte   R  jump by 4 bytes         o  an address of 8 bytes
//   t  ModRM, and a byte if it is test (F6)        T  the same with 2 or 4 bytes (F7)
//   -  no instruction in 64-bit mode, or a prefix that is dealt with before
constexpr std::string_view kOneByte =
    "mmmmbz--mmmmbz--"
    "mmmmbz--mmmmbz--"
    "mmmmbz--mmmmbz--"
    "mmmmbz--mmmmbz--"
    "----------------"
    "................"
    "---m----zZbB...."
    "rrrrrrrrrrrrrrrr"
    "BZ-Bmmmmmmmmmmmm"
    "..........-....."
    "oooo....bz......"
    "bbbbbbbbvvvvvvvv"
    "BBw.--BZe.w..b-."
    "mmmm---.mmmmmmmm"
    "rrrrbbbbRR-r...."
    "-.--..tT......mm";
constexpr std::string_view kTwoBytes =  // behind 0F
    "mmmm-.....-.-m.B"
    "mmmmmmmmmmmmmmmm"
    "mmmm----mmmmmmmm"
    "........-.-....."
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "BBBBmmm.mmmmmmmm"
    "RRRRRRRRRRRRRRRR"
    "mmmmmmmmmmmmmmmm"
    "...mBm--...mBmmm"
    "mmmmmmmmmmBmmmmm"
    "mmBmBBBm........"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm"
    "mmmmmmmmmmmmmmmm";
static_assert(kOneByte.size() == 256 && kTwoBytes.size() == 256);

class Decoder {
 public:
  explicit Decoder(std::string_view code) : code_(code.substr(0, 15)) {}  // no longer ones exist

  std::optional<X86Instruction> Run() {
    if (!Prefixes()) return std::nullopt;
    const char form = Opcode();
    if (!Operands(form) || at_ > code_.size()) return std::nullopt;
    result_.length = static_cast<uint8_t>(at_);
    return result_;
  }

 private:
  // 0 behind the end: the length says that it is cut off.
  uint8_t Peek() const { return at_ < code_.size() ? static_cast<uint8_t>(code_[at_]) : 0; }
  uint8_t Next() {
    const uint8_t byte = Peek();
    ++at_;
    return byte;
  }

  bool Prefixes() {
    for (; at_ < code_.size(); ++at_) {
      const uint8_t byte = Peek();
      if (byte == 0x66) {
        short_operand_ = true;
      } else if (byte == 0x67) {
        short_address_ = true;
      } else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 &&
                 byte != 0x3e && byte != 0x26 && byte != 0x64 && byte != 0x65) {
        break;
      }
    }
    if ((Peek() & 0xf0) == 0x40) wide_ = (Next() & 8) != 0;
    return at_ < code_.size();
  }

  char Opcode() {
    result_.opcode_at = static_cast<uint8_t>(at_);
    const uint8_t byte = Next();
    switch (byte) {
      case 0x0f:
        if (Peek() == 0x38) return OfMap(2);
        if (Peek() == 0x3a) return OfMap(3);
        return kTwoBytes[Next()];
      case 0xc5:  // VEX
        ++at_;
        return OfVectorMap(1);
      case 0xc4: {
        const uint8_t map = Next() & 0x1f;
        ++at_;
        return OfVectorMap(map);
      }
      case 0x62: {  // EVEX
        const uint8_t map = Next() & 7;
        at_ += 2;
        return OfVectorMap(map);
      }
      default:
        return kOneByte[byte];
    }
  }

  char OfMap(int map) {
    at_ += 2;  // 38 or 3A, and the opcode
    return map == 2 ? 'm' : 'B';
  }

  char OfVectorMap(int map) {
    const uint8_t opcode = Next();
    switch (map) {
      case 1:
        return kTwoBytes[opcode] == '.' ? '.' : kTwoBytes[opcode] == 'B' ? 'B' : 'm';
      case 2:
      case 5:
      case 6:
        return 'm';
      case 3:
        return 'B';
      default:
        return '-';
    }
  }

  void ModRm() {
    const uint8_t byte = Next();
    register_ = byte >> 3 & 7;
    const int mode = byte >> 6;
    const int base = byte & 7;
    if (mode == 3) return;
    if (base == 4) {
      const uint8_t scale = Next();
      if (mode == 0 && (scale & 7) == 5) at_ += 4;
    } else if (mode == 0 && base == 5) {
      result_.relative_at = static_cast<uint8_t>(at_);
      result_.relative_bytes = 4;
      at_ += 4;
    }
    at_ += mode == 1 ? 1 : mode == 2 ? 4 : 0;
  }

  void Jump(int bytes) {
    result_.relative_at = static_cast<uint8_t>(at_);
    result_.relative_bytes = static_cast<uint8_t>(bytes);
    result_.jumps = true;
    at_ += static_cast<size_t>(bytes);
  }

  bool Operands(char form) {
    const size_t z = short_operand_ ? 2 : 4;
    switch (form) {
      case '.':
        return true;
      case 'm':
        ModRm();
        return true;
      case 'B':
        ModRm();
        at_ += 1;
        return true;
      case 'Z':
        ModRm();
        at_ += z;
        return true;
      case 't':
        ModRm();
        at_ += register_ < 2 ? 1 : 0;
        return true;
      case 'T':
        ModRm();
        at_ += register_ < 2 ? z : 0;
        return true;
      case 'b':
        at_ += 1;
        return true;
      case 'w':
        at_ += 2;
        return true;
      case 'e':
        at_ += 3;
        return true;
      case 'z':
        at_ += z;
        return true;
      case 'v':
        at_ += wide_ ? 8 : z;
        return true;
      case 'o':
        at_ += short_address_ ? 4 : 8;
        return true;
      case 'r':
        Jump(1);
        return true;
      case 'R':
        Jump(4);
        return true;
      default:
        return false;
    }
  }

  std::string_view code_;
  size_t at_ = 0;
  bool short_operand_ = false;
  bool short_address_ = false;
  bool wide_ = false;
  int register_ = 0;  // the middle of ModRM
  X86Instruction result_;
};

}  // namespace

std::optional<X86Instruction> DecodeX86(std::string_view code) { return Decoder(code).Run(); }

}  // namespace kernelsmith
