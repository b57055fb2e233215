# The command line of privsieve: the program, its arguments, its JSON and its errors.

# Return the program: the option, then the environment variable, then the name.
program <- function() {
  getOption("privsieve.command", Sys.getenv("PRIVSIEVE", "privsieve"))
}

# Turn named R values into options: TRUE is a flag, NULL and FALSE are left out,
# vectors are joined by commas, and underscores become hyphens.
as_options <- function(options) {
  words <- character()
  for (name in names(options)) {
    value <- options[[name]]
    if (is.null(value) || identical(value, FALSE)) next
    flag <- if (nchar(name) == 1) paste0("-", name) else paste0("--", gsub("_", "-", name))
    words <- c(words, flag)
    if (!identical(value, TRUE)) words <- c(words, paste(format_values(value), collapse = ","))
  }
  words
}

# Write numbers without an exponent and without rounding to seven digits.
format_values <- function(values) {
  if (is.numeric(values)) {
    vapply(values, format, "", digits = 15, scientific = FALSE, trim = TRUE)
  } else {
    as.character(values)
  }
}

# Run a verb and return its JSON as an R list.  An error has the program's own sentence,
# its exit code (`$exit`) and the class "privsieve_error".
run <- function(verb, arguments = character(), options = list()) {
  output <- tempfile("privsieve")
  messages <- tempfile("privsieve")
  on.exit(unlink(c(output, messages)))
  words <- c(verb, arguments, as_options(options), "--json")
  status <- suppressWarnings(
    system2(program(), shQuote(words), stdout = output, stderr = messages))
  if (status == 127) {
    fail("the program 'privsieve' was not found. Install it with 'pip install privsieve', or ",
         "set options(privsieve.command = \"/path/to/privsieve\")", exit = status)
  }
  text <- paste(readLines(output, warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  # `verify` exits with 7 and prints an answer if the release is not valid.
  if (status != 0 && !(verb == "verify" && status == 7 && nzchar(text))) {
    lines <- readLines(messages, warn = FALSE, encoding = "UTF-8")
    start <- grep("^privsieve: ", lines)
    if (length(start)) lines <- lines[start[length(start)]:length(lines)]
    fail(sub("^privsieve: ", "", paste(lines, collapse = "\n")), exit = status)
  }
  fromJSON(text, simplifyVector = TRUE)
}

fail <- function(..., exit) {
  stop(structure(class = c("privsieve_error", "error", "condition"),
                 list(message = paste0(...), call = NULL, exit = exit)))
}

# Return the path of a table.  Write a data frame to a private file; the second element of the
# result tells the caller to remove this file.
as_file <- function(data) {
  if (is.character(data) && length(data) == 1) return(list(path = data, remove = FALSE))
  if (!is.data.frame(data)) {
    stop("`data` must be a data frame or the path of a table", call. = FALSE)
  }
  path <- tempfile("privsieve", fileext = ".csv")
  file.create(path)
  Sys.chmod(path, "600")
  plain <- as.data.frame(lapply(data, as_cells), check.names = FALSE)
  names(plain) <- names(data)
  write.table(plain, path, sep = ",", row.names = FALSE, na = "", qmethod = "double",
              fileEncoding = "UTF-8")
  list(path = path, remove = TRUE)
}

# Write one column: labelled values as their codes, factors as their words, dates as ISO texts,
# logical values as 1 and 0.
as_cells <- function(column) {
  if (inherits(column, "haven_labelled")) column <- unclass(column)
  if (is.factor(column)) return(as.character(column))
  if (inherits(column, c("Date", "POSIXct"))) return(format(as.Date(column)))
  if (is.logical(column)) return(as.integer(column))
  attributes(column) <- NULL
  column
}

with_file <- function(data, action) {
  file <- as_file(data)
  if (file$remove) on.exit(unlink(file$path))
  action(file$path)
}
