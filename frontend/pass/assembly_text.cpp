#include "assembly_text.hpp"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <utility>

namespace pmemsim::pass {
namespace {

using llvm::StringRef;

constexpr std::uint8_t kLockPrefix = 0xf0;
constexpr std::uint8_t kRepeatPrefix = 0xf3;

// Returns the modifier `:k` that names a part of a register. Others (`:c`, `:P`) have no width.
StringRef width_letter(StringRef modifier) {
  modifier.consume_front(":");
  return modifier.size() == 1 && StringRef("bhwkq").contains(modifier) ? modifier : "";
}

// Resolves LLVM's escapes: operands, $$, and the first (AT&T) one of the dialect's alternatives.
std::string plain_text(StringRef text) {
  std::string plain;
  bool skipping = false;  // inside the second alternative
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '$' || i + 1 == text.size()) {
      if (!skipping) plain += text[i];
      continue;
    }
    const char next = text[++i];
    if (next == '(') continue;
    if (next == '|' || next == ')') {
      skipping = next == '|';
      continue;
    }
    std::string part;
    if (next == '{') {
      const std::size_t close = text.find('}', i);
      if (close == StringRef::npos) return plain;
      const StringRef reference = text.slice(i + 1, close);
      const StringRef number = reference.take_while(llvm::isDigit);
      const StringRef modifier = reference.drop_front(number.size());
      part = kOperandMark + number.str() + width_letter(modifier).str() + kOperandEnd;
      if (reference.ends_with(":a")) part = "(" + part + ")";  // the operand is an address
      i = close;
    } else if (llvm::isDigit(next)) {
      const StringRef number = text.substr(i).take_while(llvm::isDigit);
      part = kOperandMark + number.str() + kOperandEnd;
      i += number.size() - 1;
    } else {
      part = next;
    }
    if (!skipping) plain += part;
  }
  return plain;
}

std::string without_comments(StringRef text) {
  std::string result;
  while (!text.empty()) {
    if (text.consume_front("/*")) {
      text = text.drop_front(std::min(text.find("*/"), text.size()));
      text.consume_front("*/");
    } else if (text.front() == '#') {
      text = text.drop_while([](char c) { return c != '\n'; });
    } else {
      result += text.front();
      text = text.drop_front();
    }
  }
  return result;
}

bool is_prefix_word(StringRef word) {
  return llvm::StringSwitch<bool>(word)
      .Cases("lock", "rep", "repe", "repz", "repne", "repnz", "data16", "rex64", true)
      .Cases("ds", "cs", "es", "ss", "xacquire", "xrelease", "notrack", true)
      .Default(false);
}

bool is_label_character(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$' || c == kOperandMark ||
         c == kOperandEnd;
}

bool repeats_text(StringRef directive) {
  return llvm::StringSwitch<bool>(directive)
      .Cases(".rept", ".rep", ".irp", ".irpc", ".macro", true)
      .Default(false);
}

// Splits the text at commas outside of parentheses.
std::vector<std::string> split_operands(StringRef text) {
  std::vector<std::string> operands;
  std::string current;
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth == 0) {
      operands.push_back(StringRef(current).trim().str());
      current.clear();
    } else {
      current += c;
    }
  }
  if (!StringRef(current).trim().empty()) operands.push_back(StringRef(current).trim().str());
  return operands;
}

class StatementParser {
 public:
  std::vector<Statement> parse(StringRef text) {
    const std::string plain = without_comments(plain_text(text));
    llvm::SmallVector<StringRef, 8> lines;
    llvm::SplitString(plain, lines, "\n;");
    for (StringRef line : lines) statement(line.trim());
    if (has_instruction_bytes()) finish();
    return std::move(statements_);
  }

 private:
  void statement(StringRef text) {
    while (true) {  // labels: `1:`, `retry:`, `retry%=:`
      const StringRef name = text.take_while(is_label_character);
      if (name.empty() || !text.substr(name.size()).starts_with(":")) break;
      if (has_instruction_bytes()) finish();
      current_.labels.push_back(name.str());
      text = text.drop_front(name.size() + 1).ltrim();
    }
    if (text.empty()) return;
    if (text.front() == '.') {
      directive(text);
      return;
    }
    if (has_instruction_bytes()) finish();
    StringRef word = text.take_until(llvm::isSpace);
    while (is_prefix_word(word.lower())) {
      if (word.equals_insensitive("lock")) current_.lock = true;
      if (word.lower().starts_with("rep")) current_.repeat_prefix = true;
      if (word.equals_insensitive("data16")) current_.bytes.push_back(kOperandSizePrefix);
      text = text.drop_front(word.size()).ltrim();
      word = text.take_until(llvm::isSpace);
    }
    if (word.empty()) return;  // the prefixes of the next statement
    current_.mnemonic = word.lower();
    current_.operands = split_operands(text.drop_front(word.size()));
    finish();
  }

  void directive(StringRef text) {
    const StringRef name = text.take_until(llvm::isSpace);
    const auto width = llvm::StringSwitch<unsigned>(name)
                           .Case(".byte", 1)
                           .Cases(".short", ".word", ".value", ".hword", ".2byte", 2)
                           .Cases(".long", ".int", ".4byte", 4)
                           .Cases(".quad", ".8byte", 8)
                           .Default(0);
    if (width == 0) {
      if (!repeats_text(name)) return;
      current_.mnemonic = name.str();
      finish();
      return;
    }
    llvm::SmallVector<StringRef, 8> numbers;
    text.drop_front(name.size()).split(numbers, ',');
    for (StringRef number : numbers) {
      std::uint64_t value = 0;
      if (number.trim().getAsInteger(0, value)) return;
      for (unsigned i = 0; i < width; ++i) byte(static_cast<std::uint8_t>(value >> 8 * i));
    }
  }

  void byte(std::uint8_t value) {
    if (value == kLockPrefix) current_.lock = true;
    if (value == kRepeatPrefix) current_.repeat_prefix = true;
    current_.bytes.push_back(value);
  }

  bool has_instruction_bytes() const {
    return llvm::any_of(current_.bytes, [](std::uint8_t byte) { return !is_prefix_byte(byte); });
  }

  void finish() {
    statements_.push_back(std::move(current_));
    current_ = {};
  }

  Statement current_;
  std::vector<Statement> statements_;
};

}  // namespace

bool is_prefix_byte(std::uint8_t byte) {
  switch (byte) {
    case kOperandSizePrefix:
    case kLockPrefix:
    case kRepeatPrefix:
    case 0xf2:  // repne
    case 0x2e:
    case 0x36:
    case 0x3e:
    case 0x26:
    case 0x64:
    case 0x65:  // segments
      return true;
    default:
      return false;
  }
}

std::vector<Statement> parse_assembly(StringRef text) { return StatementParser().parse(text); }

unsigned count_assembly_instructions(StringRef text) {
  return static_cast<unsigned>(parse_assembly(text).size());
}

}  // namespace pmemsim::pass
