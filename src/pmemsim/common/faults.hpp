// Fault injection: removes a protective mechanism of a component, to show that crash verification
// detects the fault.
//
// A fault is not a parameter. The component in which it can be injected declares it once, in a
// struct:
//
//   struct X86Faults {
//     bool fence = false;
//
//     template <class Visitor>
//     void describe(Visitor& visit) {
//       visit("fence", fence, "fences don't wait for flushes");
//     }
//   };
//
// The component's parameters have this struct as a member `faults`. A FaultSet has one bit for each
// fault.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pmemsim {

// The key of the setting that injects faults: "x86.fence,log.commit".
inline constexpr std::string_view kFaultsKey = "pmemsim.faults";

struct Fault {
  std::string name;  // "x86.fence"
  std::string what;  // "fences don't wait for flushes"
};

// The set of declared faults, with a bit for each that is injected.
class FaultSet {
 public:
  void declare(Fault fault);  // repeated calls have no further effect
  std::span<const Fault> declared() const { return declared_; }

  // Injects exactly these faults, whose names are separated by commas. Returns a description of the
  // problem that completes the sentence "KEY: ...", or nothing.
  std::optional<std::string> inject(std::string_view names);
  bool has(std::string_view name) const;
  std::vector<std::string_view> injected() const;

 private:
  std::optional<std::size_t> find(std::string_view name) const;

  std::vector<Fault> declared_;
  std::vector<bool> bits_;  // in the order of declared_
};

// Visits the faults of components, group by group.
class FaultVisitor {
 public:
  virtual ~FaultVisitor() = default;
  template <class Faults>
  void group(std::string_view name, Faults& faults) {
    prefix_ = std::string(name) + ".";
    faults.describe(*this);
  }
  void operator()(std::string_view name, bool& flag, std::string_view what) {
    visit(prefix_ + std::string(name), flag, what);
  }

 protected:
  virtual void visit(const std::string& name, bool& flag, std::string_view what) = 0;

 private:
  std::string prefix_;
};

class FaultLister final : public FaultVisitor {
 public:
  explicit FaultLister(FaultSet& set) : set_(set) {}

 private:
  void visit(const std::string& name, bool&, std::string_view what) override {
    set_.declare({name, std::string(what)});
  }
  FaultSet& set_;
};

class FaultInjector final : public FaultVisitor {
 public:
  explicit FaultInjector(const FaultSet& set) : set_(set) {}

 private:
  void visit(const std::string& name, bool& flag, std::string_view) override {
    flag = set_.has(name);
  }
  const FaultSet& set_;
};

}  // namespace pmemsim
