import BellhopTesting
import Foundation

/// A page with files, commands and their output: question and answer in one file.
///
///     --- rules/a.yaml
///     rule: a
///     $ bellhop check
///     rules/a.yaml:1:1: error: …
///     exit 78
///
/// Standard error and output are shown as on a terminal, errors first. `exit` is omitted if it is 0. Times, ids, ports and the
/// folder's name are replaced by words. A blank line separates two commands. `< text` under a command is its standard input.
struct GoldenPage {
    struct Exchange {
        var command: String
        var input: String
        /// The expected output, with the exit line.
        var answer: String
    }

    var preamble: String
    var files: [(name: String, text: String)] = []
    var exchanges: [Exchange] = []

    init(_ text: String) {
        preamble = ""
        enum Place { case preamble, file, exchange }
        var place = Place.preamble
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix("--- ") {
                files.append((String(line.dropFirst(4)), ""))
                place = .file
            } else if line.hasPrefix("$ ") {
                exchanges.append(Exchange(command: String(line.dropFirst(2)), input: "", answer: ""))
                place = .exchange
            } else {
                switch place {
                case .preamble: preamble += line + "\n"
                case .file: files[files.count - 1].text += line + "\n"
                case .exchange where line.hasPrefix("< "): exchanges[exchanges.count - 1].input += line.dropFirst(2) + "\n"
                case .exchange: exchanges[exchanges.count - 1].answer += line + "\n"
                }
            }
        }
    }

    /// The page with these answers in place of the recorded ones.
    func text(answers: [String]) -> String {
        var text = preamble
        for file in files { text += "--- \(file.name)\n\(file.text)" }
        for (index, (exchange, answer)) in zip(exchanges, answers).enumerated() {
            if index > 0 { text += "\n" }
            text += "$ \(exchange.command)\n"
            for line in exchange.input.split(separator: "\n", omittingEmptySubsequences: true) { text += "< \(line)\n" }
            text += answer
        }
        return text
    }

    /// Runs the page's commands in a folder and returns their output in the page's form.
    func run(in folder: String, environment: [String: String] = [:], replacing words: [(String, String)] = []) async throws
        -> [String]
    {
        for file in files {
            let path = "\(folder)/\(file.name)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            var text = file.text
            for (word, value) in words { text = text.replacing(word, with: value) }
            try Data(text.utf8).write(to: URL(filePath: path))
        }
        var answers: [String] = []
        for exchange in exchanges {
            var command = exchange.command
            for (word, value) in words { command = command.replacing(word, with: value) }
            let ended = try await Self.shell(command, in: folder, environment: environment, input: exchange.input)
            var answer = Self.settle(ended.errors + ended.output, folder: folder, words: words)
            while answer.hasSuffix("\n") { answer.removeLast() }
            if !answer.isEmpty { answer += "\n" }
            if ended.code != 0 { answer += "exit \(ended.code)\n" }
            answers.append(answer)
        }
        return answers
    }

    /// `bellhop …` runs the program; any other command runs in a shell.
    private static func shell(
        _ command: String, in folder: String, environment: [String: String], input: String
    ) async throws -> Program.Ended {
        let script = "bellhop() { \"$BELLHOP_PROGRAM\" \"$@\"; }\n\(command)"
        return try await Program(
            ["-c", script], program: "/bin/sh", in: folder,
            environment: environment.merging(["BELLHOP_PROGRAM": Repository.program]) { old, _ in old }, input: input
        ).end()
    }

    /// Replaces the parts that differ between runs.
    static func settle(_ text: String, folder: String, words: [(String, String)]) -> String {
        var text = text.replacing(folder, with: "FOLDER")
        for (word, value) in words { text = text.replacing(value, with: word) }
        text = text.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/, with: "TIME")
        text = text.replacing(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+09:00/, with: "TIME+09:00")
        text = text.replacing(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/, with: "TIME").replacing(
            /\b\d\d-\d\d \d\d:\d\d(:\d\d)?\b/, with: "TIME")
        text = text.replacing(/\bp[0-9a-f]{11}\b/, with: "PROJECT")
        text = text.replacing(/\b[0-9a-f]{32}\b/, with: "ID").replacing(/\b[0-9a-f]{12}\b/, with: "ID")
        text = text.replacing(/(state|code_challenge)=[A-Za-z0-9_-]{20,}/) { "\($0.output.1)=ID" }
        text = text.replacing(/127\.0\.0\.1:\d+/, with: "127.0.0.1:PORT")
        return text
    }
}
