import BellhopCore
import BellhopRules
import BellhopTesting
import Foundation
import Testing

@testable import BellhopAgent

/// The files, folders and globs of `rules:`.
@Suite struct RuleFinderTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        for name in [
            "rules/a.yaml", "rules/b.yml", "rules/b.test.yaml", "rules/.hidden.yaml", "rules/notes.txt", "rules/deep/c.yaml",
            "rules/deep/er/d.yaml", "teams/east/e.yaml", "teams/west/w.yaml", "teams/west/w.test.yml", "teams/x.yaml",
            "lone.rules",
        ] { try folder.write(name, "# \(name)\n") }
    }

    private func found(_ paths: String..., isImplicit: Bool = false) -> (rules: [String], tests: [String], problems: [String]) {
        let found = RuleFinder.find(paths.map { "\(folder.path)/\($0)" }, isImplicit: isImplicit)
        func short(_ text: String) -> String { text.replacing(folder.path + "/", with: "") }
        return (
            found.rules.map { short($0.path) }, found.tests.map { short($0.path) },
            found.problems.all.map { "\($0.severity): \(short($0.message))" }
        )
    }

    @Test func `a folder stands for all rules in and below it, except hidden files`() {
        let all = found("rules")
        #expect(all.rules.sorted() == ["rules/a.yaml", "rules/b.yml", "rules/deep/c.yaml", "rules/deep/er/d.yaml"])
        #expect(all.tests == ["rules/b.test.yaml"])
        #expect(all.problems == [])
    }

    @Test func `a folder and a glob leave out a bellhop yaml, so that the rules may be beside it`() throws {
        for place in ["teams/bellhop.yaml", "teams/west/bellhop.yaml"] { try folder.write(place, "version: 1\n") }
        #expect(found("teams").rules.sorted() == ["teams/east/e.yaml", "teams/west/w.yaml", "teams/x.yaml"])
        #expect(found("teams/*.yaml").rules == ["teams/x.yaml"])
        #expect(found("teams/bellhop.yaml").rules == ["teams/bellhop.yaml"], "a file that is named is read")
        #expect(RulePlaces([folder.path + "/teams"]).refusal(of: folder.path + "/teams/bellhop.yaml") != nil)
    }

    @Test func `for a rule file, the test files beside it are found too`() {
        let paths = ["rules/a.yaml", "rules/b.yml", "teams/west/w.yaml", "teams/west/w.test.yml", "teams"]
        #expect(
            RuleFinder.withTests(paths.map { "\(folder.path)/\($0)" }).map { $0.replacing(folder.path + "/", with: "") } == [
                "rules/a.yaml", "rules/b.yml", "rules/b.test.yaml", "teams/west/w.yaml", "teams/west/w.test.yml",
                "teams/west/w.test.yml", "teams",
            ])
    }

    @Test func `globs match within one path component: stars, character sets and question marks`() {
        #expect(found("rules/*.yaml").rules == ["rules/a.yaml"])
        #expect(found("rules/*.y*ml").rules.sorted() == ["rules/a.yaml", "rules/b.yml"])
        #expect(found("rules/[ab].y*").rules.sorted() == ["rules/a.yaml", "rules/b.yml"])
        #expect(found("rules/?.yml").rules == ["rules/b.yml"])
        #expect(found("teams/*/*.yaml").rules == ["teams/east/e.yaml", "teams/west/w.yaml"])
        #expect(found("teams/*/*").tests == ["teams/west/w.test.yml"])
        #expect(
            found("teams/*st").rules == ["teams/east/e.yaml", "teams/west/w.yaml"], "a folder that matches stands for its files")
    }

    @Test func `a file is read once even if named several times, and a file named directly may have any extension`() {
        #expect(found("rules/*.yaml", "rules/a.yaml", "rules").rules.count { $0 == "rules/a.yaml" } == 1)
        #expect(found("lone.rules").rules == ["lone.rules"])
    }

    @Test func `the console reads every rule file that is in force, also one of more than a megabyte`() throws {
        let text = "rule: r\non: task_created\ndo: [{log: {text: x}}]\n" + String(repeating: "# note\n", count: 200_000)
        let path = try folder.write("rules/large.yaml", text)
        let book = try RuleBook.load([try #require(RuleFinder.read(path))], context: RuleLoading.openContext())
        #expect(Agent.content(of: path, in: book)?.count == text.utf8.count)
        #expect(Agent.content(of: folder.path + "/rules/a.yaml", in: book) == nil)
    }

    @Test func `the path of a file or a folder that exists is no glob, whatever characters it has`() throws {
        try folder.write("rota [1]/rules/a.yaml", "# a\n")
        let all = found("rota [1]/rules", "rota [1]/rules/a.yaml")
        #expect(all.rules == ["rota [1]/rules/a.yaml"] && all.problems == [])
        let places = RulePlaces(["\(folder.path)/rota [1]/rules"])
        #expect(places.refusal(of: "\(folder.path)/rota [1]/rules/new.yaml") == nil)
    }

    @Test func `below a folder that exists, its characters stand for themselves in a glob`() throws {
        for name in ["rota [1]/rules/a.yaml", "rota [1]/rules/b.yaml", "rota 1/rules/c.yaml"] { try folder.write(name, "# a\n") }
        #expect(found("rota [1]/rules/*.yaml").rules == ["rota [1]/rules/a.yaml", "rota [1]/rules/b.yaml"])
        #expect(found("rota [1]/*/a.yaml").rules == ["rota [1]/rules/a.yaml"])
        let place = "\(folder.path)/rota [1]/rules"
        #expect(RuleFinder.find([place + "/*.yaml"]).folders.contains(place))
        #expect(RulePlaces([place + "/*.yaml"]).refusal(of: place + "/new.yaml") == nil)
    }

    @Test func `a file whose name is the glob itself is one of its files`() throws {
        try folder.write("rules/*.yaml", "# by a shell\n")
        #expect(found("rules/*.yaml").rules.sorted() == ["rules/*.yaml", "rules/a.yaml"])
    }

    @Test func `a glob without matches is a warning, and a missing path an error unless it is the default`() {
        #expect(found("none/*.yaml").problems == ["warning: no file matches none/*.yaml"])
        #expect(found("none").problems == ["error: there is no file or folder `none`"])
        #expect(found("none", isImplicit: true).problems == ["warning: there is no file or folder `none`"])
    }

    @Test func `the watched folders are those in which a matching file can appear`() throws {
        try folder.write("empty/a/notes.txt", "")
        let globs = ["teams/*/*.yaml", "empty/*/*.yaml"]
        let watched = RuleFinder.find((globs + ["lone.rules"]).map { "\(folder.path)/\($0)" }).folders
        for place in ["/teams", "/teams/east", "/empty/a", ""] { #expect(watched.contains(folder.path + place), "\(place)") }
    }
}
