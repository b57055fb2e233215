# PRIVATE: this folder is about the rows of a table.  Run this in it: Rscript sdc.R
# Written by privsieve @VERSION@ for sdcMicro @SDCMICRO@; up to `library(sdcMicro)` it is base R.

invisible(Sys.umask("077"))
if (!l10n_info()[["UTF-8"]]) invisible(Sys.setlocale("LC_CTYPE", "C.UTF-8"))

k <- @K@
rows <- @ROWS@

# The columns: what they are called here, and in the table.
columns <- @COLUMNS@

# The key variables: what may be known of a person.  Numbers and dates are cut into intervals.
keys <- @KEYS@
# What must not be learned.
sensitive <- @SENSITIVE@
# What is predicted, unless it is published and may be known: then it is among the keys.
target <- @TARGET@
# The numbers that were cut, as they were.
numbers <- @NUMBERS@
# Of them the values that stand for none.
none <- @NONE@

# The table: each cell is a text, and an empty one is missing.
raw <- read.csv(@FILE@, header = @HEADER@, sep = @SEP@, quote = "\"",
                colClasses = "character", na.strings = "", comment.char = "", fill = TRUE,
                check.names = FALSE, blank.lines.skip = FALSE, @READ@)
names(raw) <- if (@HEADER@) trimws(names(raw), whitespace = "[ \t]") else
  paste0("c", seq_along(raw))
if (nrow(raw) != rows || !all(columns %in% names(raw))) {
  stop("the table is not the one that was exported: export it again")
}
raw[] <- lapply(raw, trimws, whitespace = "[ \t]")

# A cell's level, as a file of levels says it: a missing cell has a level of its own.
level_of <- function(variable) {
  file <- file.path("levels", paste0(variable, ".csv"))
  line <- read.csv(file, colClasses = "character", na.strings = character(0), encoding = "UTF-8",
                   comment.char = "", quote = "\"")
  cell <- raw[[columns[[variable]]]]
  cell[is.na(cell)] <- ""
  found <- line$level[match(enc2utf8(cell), enc2utf8(line$value))]
  if (anyNA(found)) stop(file, " lacks a cell of the table: export it again")
  factor(found, levels = unique(line$level))
}
dat <- as.data.frame(sapply(names(columns), level_of, simplify = FALSE))
for (n in names(numbers)) {
  cell <- sub(@DEC@, ".", raw[[columns[[numbers[[n]]]]]], fixed = TRUE)
  dat[[n]] <- suppressWarnings(as.numeric(cell))
  dat[[n]][dat[[n]] %in% none[[n]]] <- NA
}
# The rows of each group that agrees in all key variables.
groups_of <- function() {
  table(do.call(paste, c(unname(lapply(dat[keys], as.integer)), sep = ":")))
}
groups <- groups_of()
if (min(groups) != @LEVEL@ || sum(groups[groups < k]) != @BELOW@) {
  stop("the file is read in another way here than by privsieve: export it without --by-path")
}
# To cut a number in another way, here, before it is counted (intervals are open on the left):
# dat$v1_age <- sdcMicro::globalRecode(dat$n1_age, breaks = c(0, 18, 65, 120))

# k, counted in base R.
groups <- groups_of()
cat("smallest group, base R: ", min(groups), " of ", nrow(dat), " rows; ",
    sum(groups[groups < k]), " rows in groups below k\n", sep = "")

if (!requireNamespace("sdcMicro", quietly = TRUE)) {
  stop("what follows needs sdcMicro: install.packages(\"sdcMicro\")")
}
suppressPackageStartupMessages(library(sdcMicro))

sdc <- createSdcObj(dat, keyVars = keys,
                    numVars = if (length(numbers)) names(numbers),
                    sensibleVar = if (length(sensitive)) sensitive)
print(sdc)
print(sdc, type = "risk")
if (length(sensitive)) {
  sdc <- ldiversity(sdc, ldiv_index = sensitive)
  print(get.sdcMicroObj(sdc, type = "risk")$ldiversity)
}

# What sdcMicro does, and privsieve does not.  Take a # away, and say how much.
#
# Levels are put together, a step at a time:
# sdc <- groupAndRename(sdc, var = keys[1], before = c("A", "B"), after = "A or B")
#
# Local suppression: single cells are taken out until every group has k rows.  sdcMicro counts a
# cell that was taken out as any value; privsieve counts it as a value of its own.
# sdc <- localSuppression(sdc, k = k)
#
# Microaggregation: numbers become the mean of k or more rows.
# sdc <- microaggregation(sdc, variables = names(numbers), aggr = k)
#
# PRAM: categories are changed at random, by known chances (of a key variable k then says nothing).
# sdc <- pram(sdc, variables = c(sensitive, target)[1])

smallest <- min(get.sdcMicroObj(sdc, type = "risk")$individual[, "fk"])
cat("smallest group, sdcMicro: ", smallest, "\n", sep = "")
if (smallest < k) {
  stop("a group has fewer than k = ", k, " rows, and nothing was written: take a # away above")
}
if (any(file.exists(c("result.csv", "domain.toml")))) {
  stop("result.csv or domain.toml exists, and nothing is overwritten: move them away")
}

# The result: key variables, sensitive ones and the target, in another order of rows.  A number
# stays out unless you microaggregated it: add its name.
result <- extractManipData(sdc, randomizeRecords = "simple")[c(keys, sensitive, target)]
result[] <- lapply(result, as.character)
names(result) <- columns[names(result)]
file <- file("result.csv", "w", encoding = "UTF-8")
write.csv(result, file, row.names = FALSE, na = "")
close(file)

# What privsieve reads it by: the levels of each column; a cell that was taken out is missing.
#   privsieve check result.csv --domain domain.toml
toml <- function(x) {
  x <- gsub("\"", "\\\"", gsub("\\", "\\\\", enc2utf8(x), fixed = TRUE), fixed = TRUE)
  paste0("\"", x, "\"")
}
lines <- c("[table]", "unit = \"row\"")
for (name in names(result)) {
  levels <- sort(unique(result[[name]]))
  levels <- levels[levels != ""]
  if (!length(levels)) next
  is_target <- name %in% columns[target]
  lines <- c(lines, "", if (is_target) "[target]" else "[[column]]", paste("name =", toml(name)),
             paste("kind =", if (is_target) "\"label\"" else "\"category\""),
             paste0("values = [", paste(toml(levels), collapse = ", "), "]"))
}
file <- file("domain.toml", "w", encoding = "UTF-8")
writeLines(lines, file)
close(file)
cat("written: result.csv, domain.toml\n")
