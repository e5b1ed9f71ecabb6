/* not_finite.h - the law that a value which is not finite counts in no rule but those that are about such values. */
#ifndef ASSAY_TESTS_NOT_FINITE_H
#define ASSAY_TESTS_NOT_FINITE_H

/* A CUnit test over every registered rule that looks at tensors; what breaks the law is printed with its parameters. */
void not_finite_counts_nowhere(void);

#endif
