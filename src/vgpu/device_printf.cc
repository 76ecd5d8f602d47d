#include "vgpu/device_printf.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

namespace kernelsmith::vgpu {

namespace {

// Wider fields are cut: nobody reads them, and hostile formats would eat the memory.
constexpr int kMaxField = 4096;

class Formatter {
 public:
  Formatter(PrintfMemory& memory, uint64_t arguments) : memory_(memory), next_(arguments) {}

  PrintfResult Run(const std::string& format) {
    size_t i = 0;
    while (i < format.size()) {
      if (format[i] != '%') {
        const size_t end = std::min(format.find('%', i), format.size());
        result_.text.append(format, i, end - i);
        i = end;
        continue;
      }
      i = Conversion(format, i);
    }
    return std::move(result_);
  }

 private:
  template <typename T>
  T Next() {
    next_ = (next_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
    T value{};
    memory_.Read(next_, &value, sizeof value);
    next_ += sizeof(T);
    ++result_.arguments;
    return value;
  }

  // Digits, or '*' for an argument; -1 if there are none.
  int Number(const std::string& format, size_t& i) {
    if (i < format.size() && format[i] == '*') {
      ++i;
      return std::clamp(Next<int32_t>(), -kMaxField, kMaxField);
    }
    int value = -1;
    while (i < format.size() && std::isdigit(static_cast<unsigned char>(format[i]))) {
      value = std::min((value < 0 ? 0 : value) * 10 + (format[i] - '0'), kMaxField);
      ++i;
    }
    return value;
  }

  template <typename T>
  void Append(const std::string& spec, T value) {
    char buffer[2 * kMaxField + 512];
    const int written = std::snprintf(buffer, sizeof buffer, spec.c_str(), value);
    if (written > 0) {
      result_.text.append(buffer, std::min<size_t>(written, sizeof buffer - 1));
    }
  }

  // `start` is at '%'; returns the index after the conversion.
  size_t Conversion(const std::string& format, size_t start) {
    size_t i = start + 1;
    std::string spec = "%";
    while (i < format.size() && std::strchr("-+ #0", format[i]) != nullptr) spec += format[i++];
    int width = Number(format, i);
    if (width < -1) {  // a negative '*' means left-justified
      spec += '-';
      width = -width;
    }
    if (width >= 0) spec += std::to_string(width);
    if (i < format.size() && format[i] == '.') {
      ++i;
      const int precision = Number(format, i);
      // A negative '*' counts as none; '.' alone is 0.
      if (precision >= -1) spec += "." + std::to_string(std::max(precision, 0));
    }
    bool is_long = false;
    int narrow = 0;
    while (i < format.size() && std::strchr("hlLjzt", format[i]) != nullptr) {
      if (format[i] == 'h') {
        ++narrow;
      } else if (format[i] != 'L') {
        is_long = true;  // long, long long, intmax_t, size_t, ptrdiff_t: all 64 bits
      }
      ++i;
    }
    if (i >= format.size()) {
      result_.text.append(format, start, std::string::npos);
      return format.size();
    }
    const char kind = format[i++];
    switch (kind) {
      case 'd':
      case 'i':
        if (is_long) {
          Append(spec + "lld", static_cast<long long>(Next<int64_t>()));
        } else {
          const int32_t value = Next<int32_t>();
          Append(spec + "d", narrow == 0   ? value
                             : narrow == 1 ? static_cast<int16_t>(value)
                                           : static_cast<int8_t>(value));
        }
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (is_long) {
          Append(spec + "ll" + kind, static_cast<unsigned long long>(Next<uint64_t>()));
        } else {
          const uint32_t value = Next<uint32_t>();
          Append(spec + kind, narrow == 0   ? value
                              : narrow == 1 ? static_cast<uint32_t>(static_cast<uint16_t>(value))
                                            : static_cast<uint32_t>(static_cast<uint8_t>(value)));
        }
        break;
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        Append(spec + kind, Next<double>());
        break;
      case 'c':
        Append(spec + "c", static_cast<int>(Next<int32_t>()));
        break;
      case 'p':
        Append(spec + "p", reinterpret_cast<void*>(Next<uint64_t>()));
        break;
      case 's': {
        const std::string text = ReadDeviceString(memory_, Next<uint64_t>());
        if (spec == "%") {
          result_.text += text;
        } else {
          Append(spec + "s", text.c_str());
        }
        break;
      }
      case '%':
        result_.text += '%';
        break;
      default:
        result_.text.append(format, start, i - start);
        break;
    }
    return i;
  }

  PrintfMemory& memory_;
  uint64_t next_;
  PrintfResult result_;
};

}  // namespace

std::string ReadDeviceString(PrintfMemory& memory, uint64_t address, uint64_t limit) {
  if (address == 0) return "(null)";
  std::string text;
  char c = 0;
  for (uint64_t i = 0; i < limit; ++i) {
    if (!memory.Read(address + i, &c, 1)) return i == 0 ? "(invalid)" : text;
    if (c == 0) break;
    text += c;
  }
  return text;
}

PrintfResult FormatDevicePrintf(PrintfMemory& memory, uint64_t format, uint64_t arguments) {
  if (format == 0) return {.arguments = -1};
  return Formatter(memory, arguments).Run(ReadDeviceString(memory, format));
}

}  // namespace kernelsmith::vgpu
