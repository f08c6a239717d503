// Package offer matches the asks of a whole gang of tasks with the offers of Mesos agents.
//
// It is pure. Quantities are whole thousandths, because Mesos compares scalars at three decimals (scalar
// resources in common/values.cpp); so 0.1 + 0.2 fits into 0.3.
package offer
