#include "pmemsim/crash/crash_image.hpp"

#include <algorithm>
#include <cstring>

namespace pmemsim {
namespace {

bool same_words(const ProgramHistory& history, Line line, const LineData& one,
                const LineData& other) {
  const ProgramHistory::LineWords* words = history.line(line);
  if (words == nullptr) return true;
  for (std::size_t i = 0; i < words->size(); ++i) {
    constexpr std::size_t kBytes = sizeof(std::uint64_t);
    if ((*words)[i] == ProgramHistory::kNone) continue;
    if (std::memcmp(one.data() + i * kBytes, other.data() + i * kBytes, kBytes) != 0) return false;
  }
  return true;
}

}  // namespace

CrashImage::CrashImage(const Memory& pm, const Image& plain, Recovery& recovery,
                       ImageDecoder* decoder)
    : recovery_(recovery), decoder_(decoder) {
  plain.for_each_page([&](std::uint64_t address, const std::byte* page) {
    image_.write(address, page, Image::kPageBytes);
    for (std::uint64_t at = 0; at < Image::kPageBytes; at += kLineBytes) {
      const Line line = Line::of(address + at);
      recovery_.changed(line, image_.read(line));
    }
  });
  if (decoder_ == nullptr) return;
  decoder_->begin(pm.device());
  pm.device().for_each_page([&](std::uint64_t address, const std::byte* page) {
    device_.write(address, page, Image::kPageBytes);
  });
}

LineData CrashImage::on_device(Line place) const {
  return decoder_ != nullptr ? device_.read(place) : survived(place);
}

void CrashImage::update(Line place, const LineData& data) {
  if (decoder_ == nullptr) return update_line(place, data);
  device_.write(place, data);
  decoder_->changed(place, data,
                    [this](Line line, const LineData& read) { update_line(line, read); });
}

void CrashImage::registers_changed() {
  if (decoder_ == nullptr) return;
  decoder_->registers_changed([this](Line line, const LineData& read) { update_line(line, read); });
}

CrashImage::Decoded CrashImage::decoded(Line place, const LineData& data) {
  if (decoder_ == nullptr) return {{{place, data}}, {}};
  Decoded decoded;
  decoder_->changed(place, data, [&](Line line, const LineData& read) {
    decoded.lines.emplace_back(line, read);
  });
  decoded.problem = decoder_->problem();
  decoder_->changed(place, device_.read(place), [](Line, const LineData&) {});
  return decoded;
}

void CrashImage::update_line(Line line, const LineData& data) {
  write(line, data);
  changed_.push_back(line);
}

void CrashImage::write(Line line, const LineData& data) {
  recovery_.changed(line, data);
  const auto beneath = beneath_.find(line.number);
  if (beneath == beneath_.end()) {
    image_.write(line, data);
    return;
  }
  differing_ -= beneath->second.differs;
  beneath->second = {data, data != image_.read(line)};
  differing_ += beneath->second.differs;
}

LineData CrashImage::survived(Line line) const {
  const auto beneath = beneath_.find(line.number);
  return beneath == beneath_.end() ? image_.read(line) : beneath->second.survived;
}

LineData CrashImage::before_recovery(Line line) const {
  if (stays_) return survived(line);
  const auto written = std::find_if(journal_.writes.begin(), journal_.writes.end(),
                                    [&](const auto& write) { return write.line == line; });
  return written == journal_.writes.end() ? image_.read(line) : written->before;
}

void CrashImage::recover() {
  journal_.clear();
  if (decoder_ != nullptr) {
    if (const std::string problem = decoder_->problem(); !problem.empty()) {
      throw RecoveryError(problem);
    }
  }
  if (stays_) go_on_or_give_back();
  recovery_.run({image_, &journal_});
  for (const auto& write : journal_.writes) changed_.push_back(write.line);
  stays_ = recovery_.image_may_stay();
  if (stays_) keep();
}

void CrashImage::go_on_or_give_back() {
  if (const auto lines = recovery_.go_on({image_, &journal_})) {
    for (const Line line : *lines) give_back(line);
    return;
  }
  for (const auto& [number, beneath] : beneath_) {
    image_.write({number}, beneath.survived);
    changed_.push_back({number});
  }
  beneath_.clear();
  differing_ = 0;
}

void CrashImage::give_back(Line line) {
  const auto beneath = beneath_.find(line.number);
  if (beneath == beneath_.end()) return;  // Recovery never wrote this line, despite its report
  image_.write(line, beneath->second.survived);
  changed_.push_back(line);
  differing_ -= beneath->second.differs;
  beneath_.erase(beneath);
}

void CrashImage::keep() {
  for (const auto& write : journal_.writes) {
    Beneath& beneath = beneath_.try_emplace(write.line.number, write.before, false).first->second;
    differing_ -= beneath.differs;
    beneath.differs = beneath.survived != write.after;
    differing_ += beneath.differs;
  }
}

bool CrashImage::repaired() const {
  if (stays_) return differing_ > 0;
  return std::any_of(journal_.writes.begin(), journal_.writes.end(),
                     [](const auto& write) { return write.before != write.after; });
}

void CrashImage::undo_recovery() {
  if (!stays_) undo(journal_);
}

void CrashImage::undo(const RecoveryJournal& journal) {
  for (auto write = journal.writes.rbegin(); write != journal.writes.rend(); ++write) {
    this->write(write->line, write->before);
  }
}

bool CrashImage::survives_restarts(const ProgramHistory& history, std::uint64_t& restarts) {
  const auto same_write = [](const auto& one, const auto& other) {
    return one.line == other.line && one.after == other.after;
  };
  if (!journal_.read.overlaps(journal_.written) ||
      std::equal(journal_.writes.begin(), journal_.writes.end(), restarted_.begin(),
                 restarted_.end(), same_write)) {
    return true;
  }
  restarted_ = journal_.writes;
  Image recovered;
  for (const auto& write : journal_.writes) recovered.write(write.line, write.after);
  bool same = true;
  for (std::size_t stop = 1; stop < journal_.writes.size() && same; ++stop) {
    for (std::size_t i = 0; i < stop; ++i) write(journal_.writes[i].line, journal_.writes[i].after);
    RecoveryJournal again;
    try {
      recovery_.run({image_, &again});
    } catch (const RecoveryError&) {
      same = false;
    }
    ++restarts;
    for (const auto& write : journal_.writes) {
      same = same && same_words(history, write.line, read(write.line), recovered.read(write.line));
    }
    for (const auto& write : again.writes) {
      const bool known = std::any_of(journal_.writes.begin(), journal_.writes.end(),
                                     [&](const auto& other) { return other.line == write.line; });
      same = same && (known || same_words(history, write.line, write.before, write.after));
    }
    undo(again);
    undo_recovery();
  }
  return same;
}

void CrashImage::also(const std::vector<std::pair<Line, LineData>>& lines) {
  for (const auto& [line, data] : lines) {
    also_.writes.push_back({line, survived(line), data});
    update_line(line, data);
  }
}

void CrashImage::take_back() {
  undo(also_);
  also_.clear();
  if (!stays_) changed_ = recovered_;  // Otherwise recovery may have undone earlier ones
}

void CrashImage::judged() {
  recovered_.clear();
  for (const auto& write : journal_.writes) recovered_.push_back(write.line);
  changed_ = recovered_;
}

}  // namespace pmemsim
