import BellhopAgent
import BellhopConnectors
import BellhopCore
@testable import BellhopRules
import BellhopTelemetry
import Foundation
import Testing

/// The documentation matches the program: its examples are accepted, its tables are generated from the program's declarations.
/// `BELLHOP_RECORD=1 swift test --filter DocumentationTests` writes the tables again.
@Suite struct DocumentationTests {
    @Test func `the reference pages match the manifests`() throws {
        var made = 0
        for var page in try DocumentationPage.all() {
            for name in page.madeParts {
                let expected = try #require(ReferenceText.part(name), "\(page.name) has a part \(name), which has no generator")
                let found = try #require(page.part(name), "the part \(name) of \(page.name) has no end")
                made += 1
                if ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil {
                    page.setPart(name, to: expected)
                } else {
                    #expect(found == expected, "\(page.name): \(name). Record it with BELLHOP_RECORD=1 and read the difference.")
                }
            }
            if ProcessInfo.processInfo.environment["BELLHOP_RECORD"] != nil, !page.madeParts.isEmpty { try page.save() }
        }
        #expect(made == 30)
    }

    @Test func `every documented example is accepted, with and without a configuration`() async throws {
        let worlds = [RuleLoading.openContext(), try await Self.documented()]
        let known = Set(worlds[1].sources.map(\.name) + worlds[1].connections.map(\.name))
        var counts: [String: Int] = [:]
        for page in try DocumentationPage.all() {
            for listing in page.listings where listing.language == "yaml" {
                let example = try #require(try DocumentedExample(listing.text), "the kind of file of \(listing.place) is unclear")
                // Only bellhop.yaml can declare types of events and permissions.
                let worlds = page.name == Self.declaring ? [worlds[1]] : worlds
                let isOwn = !example.sources.isSubset(of: known)
                let own = isOwn ? [worlds[0], try await Self.documented(on: page, with: example.sources)] : worlds
                #expect(await example.problems(at: listing.place, in: own) == [], "\(listing.place)")
                counts[page.name, default: 0] += 1
            }
        }
        #expect(
            counts["Writing-rules", default: 0] >= 4 && counts["Sources", default: 0] >= 5 && counts["README", default: 0] >= 1,
            "\(counts)")
    }

    /// The guide whose rules use events and permissions that bellhop.yaml declares.
    private static let declaring = "Events-and-programs"

    @Test(arguments: [("Rules-cookbook", 10), ("Conversations-and-pauses", 3), (declaring, 3), ("Testing-rules", 1)])
    func `the rules of a guide pass their tests, with and without a configuration`(_ page: String, _ least: Int) async throws {
        let listings = try DocumentationPage(page).listings.filter { $0.language == "yaml" }
        var rules: [RuleFile] = []
        var tests: [RuleFile] = []
        for listing in listings {
            let example = try #require(try DocumentedExample(listing.text))
            if let name = example.ruleName, name != "example" {
                rules.append(RuleFile(path: "\(name).yaml", bytes: Array(listing.text.utf8)))
            } else if case .tests = example, let rule = rules.last {
                tests.append(RuleFile(path: rule.path.replacing(".yaml", with: ".test.yaml"), bytes: Array(listing.text.utf8)))
            }
        }
        #expect(rules.count >= least)
        #expect(tests.map(\.path) == rules.map { $0.path.replacing(".yaml", with: ".test.yaml") }, "each rule has its tests")
        let documented = try await Self.documented()
        for world in page == Self.declaring ? [documented] : [RuleLoading.openContext(), documented] {
            do throws(Diagnostics) {
                let results = try RuleTests.run(tests, rules: rules, context: world)
                #expect(results.flatMap(\.problems).map { $0.rendered() } == [])
                #expect(results.count >= rules.count)
                let restarted = try RuleTests.run(tests, rules: rules, context: world, restarts: true)
                #expect(restarted.flatMap(\.problems).map { $0.rendered() } == [], "with a restart before each step")
            } catch {
                for problem in error.all { Issue.record("\(problem.rendered())") }
            }
        }
    }

    @Test func `Getting started states the right number of shipped rules and tests`() throws {
        let folder = DocumentationPage.repository.appending(path: "rules").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".yaml") }
        let tests = files.filter { $0.hasSuffix(".test.yaml") }
        let cases = try tests.reduce(0) { count, file in
            try count + String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8).components(separatedBy: "- name:").count - 1
        }
        let rules = files.count - tests.count
        let page = try DocumentationPage("Getting-started").text
        let words = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
        #expect(page.contains("with \(words[rules]) rules and their tests"))
        #expect(page.contains("\(rules) rules in \(rules) files: fine."))
        #expect(page.contains("\(cases) passed, 0 failed"))
    }

    @Test(.enabled(if: SignatureScript.canRun, "there is no python3"))
    func `the cookbook's script accepts signed bodies and refuses altered or old ones`() throws {
        let script = try SignatureScript()
        let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
        let body = #"{"title":"Grüße"}"#
        let now = SystemClock().now
        let signed = try WebhookSigner(secret: secret).headers(id: "d1", body: Array(body.utf8), at: now)
        #expect(try script.accepts(secret, signed, body))
        #expect(try !script.accepts(secret, signed, body + " "))
        #expect(try !script.accepts("whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI0", signed, body))
        var renamed = signed
        renamed["webhook-id"] = "d2"
        #expect(try !script.accepts(secret, renamed, body))
        let old = try WebhookSigner(secret: secret).headers(
            id: "d1", body: Array(body.utf8), at: Timestamp(seconds: now.seconds - 3600))
        #expect(try !script.accepts(secret, old, body))
    }

    @Test func `each metric that a signal counts is declared, with its kind and its labels`() {
        #expect(!SignalText.counted.isEmpty)
        for metric in SignalText.counted {
            let instrument = Instrument.counted.first { $0.name == metric.name }
            #expect(instrument?.kind.name == metric.kind && instrument?.labels.map(\.name) == metric.labels, "\(metric.name)")
        }
    }

    @Test func `every test named in the design exists`() throws {
        let design = try DocumentationPage("Design").text
        let promises = try #require(design.components(separatedBy: "## Promises").last)
        let named = promises.split(separator: "\n").filter { $0.hasPrefix("- `") }.compactMap { line in
            line.split(separator: "`").first { $0 != "- " }.map(String.init)
        }
        #expect(named.count >= 18)
        let tests = try Self.testSources()
        let missing = named.filter { name in !tests.contains("func `\(name)`") }
        #expect(missing == [])
    }

    @Test func `the test named for each capability exists`() throws {
        let page = DocumentationPage.repository.appending(path: "Tests/Capabilities.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("| ") }
        let named = rows.compactMap { row in row.split(separator: "`").dropLast().last.map(String.init) }
        #expect(named.count >= 50)
        let tests = try Self.testSources()
        #expect(named.filter { !tests.contains("func `\($0)`") } == [])
    }

    /// The configuration at the start of the page Configuration, with the connections added by the guides.
    private static func documented() async throws -> RuleContext {
        let listing = try #require(try DocumentationPage("Configuration").listings.first { $0.text.hasPrefix("version: 1") })
        let added = try ["Rules-cookbook", "Conversations-and-pauses"].flatMap { try DocumentationPage($0).listings }
            .filter { $0.text.hasPrefix("connections:\n") }
        let declared = try DocumentationPage(declaring).listings.map(\.text)
            .filter { $0.hasPrefix("events:") || $0.hasPrefix("allow_exec:") }.joined(separator: "\n")
        let lines = added.map { $0.text.dropFirst("connections:\n".count) }.joined()
        try #require(listing.text.contains("\nsources:"))
        return try await DocumentedExample.context(
            of: listing.text.replacing("\nsources:", with: "\n\(lines)\nsources:") + "\n" + declared, file: listing.place)
    }

    /// The configuration on a page that declares these sources.
    private static func documented(on page: DocumentationPage, with sources: Set<String>) async throws -> RuleContext {
        let whole = try [page, DocumentationPage("Sources")].flatMap(\.listings).first { listing in
            listing.text.hasPrefix("connections:") && sources.allSatisfy { listing.text.contains("\n  \($0):") }
        }
        let listing = try #require(whole, "no configuration on \(page.name) has \(sources)")
        return try await DocumentedExample.context(of: "version: 1\n" + listing.text, file: listing.place)
    }

    private static func testSources() throws -> String {
        let folder = DocumentationPage.repository.appending(path: "Tests")
        let targets = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix("Tests") }
        var text = ""
        for target in targets {
            let files = try FileManager.default.subpathsOfDirectory(atPath: folder.appending(path: target).path)
            for file in files where file.hasSuffix(".swift") {
                text += try String(contentsOf: folder.appending(path: "\(target)/\(file)"), encoding: .utf8)
            }
        }
        return text
    }
}
