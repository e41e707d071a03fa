// A named group of parameters. The group's user defines their type, a struct with a describe().
#pragma once

#include <memory>
#include <string_view>
#include <typeinfo>
#include <utility>

#include "pmemsim/common/parameters.hpp"

namespace pmemsim {

class ParameterGroup {
 public:
  template <class Parameters>
  static ParameterGroup of(std::string_view name) {
    return ParameterGroup(name, std::make_unique<Box<Parameters>>());
  }
  ParameterGroup(const ParameterGroup& other) : name_(other.name_), box_(other.box_->clone()) {}
  ParameterGroup& operator=(const ParameterGroup& other) {
    name_ = other.name_;
    box_ = other.box_->clone();
    return *this;
  }

  std::string_view name() const { return name_; }
  bool has_type_of(const ParameterGroup& other) const {
    const AnyBox& mine = *box_;
    const AnyBox& others = *other.box_;
    return typeid(mine) == typeid(others);
  }
  void describe(ParameterLister& visit) { box_->describe(visit); }
  void describe(ParameterSetter& visit) { box_->describe(visit); }
  // Visits the faults of the group's component, if it has any.
  void describe_faults(FaultVisitor& visit) { box_->describe_faults(name_, visit); }
  // Returns the parameters, or nullptr if the group has another type.
  template <class Parameters>
  Parameters* get() {
    auto* const box = dynamic_cast<Box<Parameters>*>(box_.get());
    return box == nullptr ? nullptr : &box->parameters;
  }
  template <class Parameters>
  const Parameters* get() const {
    return const_cast<ParameterGroup*>(this)->get<Parameters>();
  }

 private:
  struct AnyBox {
    virtual ~AnyBox() = default;
    virtual std::unique_ptr<AnyBox> clone() const = 0;
    virtual void describe(ParameterLister& visit) = 0;
    virtual void describe(ParameterSetter& visit) = 0;
    virtual void describe_faults(std::string_view group, FaultVisitor& visit) = 0;
  };
  template <class Parameters>
  struct Box final : AnyBox {
    std::unique_ptr<AnyBox> clone() const override { return std::make_unique<Box>(*this); }
    void describe(ParameterLister& visit) override { parameters.describe(visit); }
    void describe(ParameterSetter& visit) override { parameters.describe(visit); }
    void describe_faults(std::string_view group, FaultVisitor& visit) override {
      if constexpr (requires { parameters.faults; }) visit.group(group, parameters.faults);
    }
    Parameters parameters;
  };

  ParameterGroup(std::string_view name, std::unique_ptr<AnyBox> box)
      : name_(name), box_(std::move(box)) {}

  std::string_view name_;
  std::unique_ptr<AnyBox> box_;
};

}  // namespace pmemsim
