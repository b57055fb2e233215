# From a data frame to a verified release, with the real program.  Without the program the
# tests end here, and say so; continuous integration sets PRIVSIEVE_TEST and fails then.
library(privsieve)

program <- getOption("privsieve.command", Sys.getenv("PRIVSIEVE", "privsieve"))
if (!nzchar(Sys.which(program))) {
  stopifnot(Sys.getenv("PRIVSIEVE_TEST") != "required")
  message("skipped: the program 'privsieve' is not installed")
  quit(save = "no")
}

expect_error <- function(code, words) {
  error <- tryCatch({ code; NULL }, error = identity)
  stopifnot(!is.null(error), grepl(words, conditionMessage(error), fixed = TRUE))
  error
}

folder <- tempfile("here")
dir.create(folder)
setwd(folder)
set.seed(1)
age <- sample(18:90, 600, replace = TRUE)
ward <- data.frame(age = age, stay = round(rexp(600, 1 / 5), 2), `heart rate` = rnorm(600, 80),
                   smoker = sample(c(TRUE, FALSE), 600, replace = TRUE),
                   back = as.integer(age > 60), check.names = FALSE)

drafted <- privsieve::domain(ward, target = "back", classes = 0:1)
stopifnot(file.exists("domain.toml"), grepl("heart rate", drafted$text),
          is.data.frame(drafted$columns), c("name", "kind") %in% names(drafted$columns),
          c("age", "stay", "heart rate", "smoker") %in% drafted$columns$name,
          "number" %in% drafted$columns$kind)
error <- expect_error(privsieve::domain(ward, target = "back", classes = 0:1), "not overwritten")
stopifnot(!grepl("fields parted", conditionMessage(error)), inherits(error, "privsieve_error"), error$exit == 2)
expect_error(privsieve::domain(3), "must be a data frame or the path of a table")

costs <- privsieve::plan(ward, top = 1)$costs
stopifnot(is.data.frame(costs), nrow(costs) >= 4, costs$found_percent <= 100,
          diff(costs$epsilon) > 0)
stopifnot(nrow(privsieve::plan(rows = 600, top = 1, epsilon = 1)$forecast) >= 3)

stopifnot(system2(program, c("ledger", "grant", "--ledger", "budget.db", "--population", "ward",
                             "--epsilon", "3"), stdout = FALSE, stderr = FALSE) == 0)
released <- privsieve::select(ward, epsilon = 2, top = 1, ledger = "budget.db",
                              population = "ward", out = "release")
stopifnot(released$selected %in% names(ward), sum(released$columns$selected) == 1,
          released$charged == 2, released$left == 1, nzchar(released$claim))
expect_error(privsieve::select(ward, epsilon = 2, top = 1, ledger = "budget.db",
                               population = "ward", out = "second"), "ward")

checked <- privsieve::verify("release", ledger = "budget.db")
stopifnot(checked$valid, nrow(checked$reasons) == 0)
cat("{}", file = file.path("release", "release.json"))
broken <- privsieve::verify("release")
stopifnot(!broken$valid, nrow(broken$reasons) > 0)

published <- privsieve::publish(ward, k = 5, target = "back", out = "public")
stopifnot(is.data.frame(published$table), nrow(published$table) == 600, published$level >= 5,
          unlist(published$table) %in% 0:1, published$items$smallest_group >= 5,
          privsieve::verify("public")$valid)
print(published)

if (requireNamespace("haven", quietly = TRUE)) {
  survey <- data.frame(
    happy = haven::labelled(sample(1:3, 200, replace = TRUE),
                            labels = c(no = 1, partly = 2, yes = 3)),
    again = sample(0:1, 200, replace = TRUE))
  labelled <- privsieve::domain(survey, target = "again", classes = 0:1, out = "survey.toml")
  stopifnot(grepl("values = [1, 2, 3]", labelled$text, fixed = TRUE))
}

# The temporary files with the rows of a data frame are removed.
stopifnot(length(list.files(tempdir(), pattern = "^privsieve")) == 0)
