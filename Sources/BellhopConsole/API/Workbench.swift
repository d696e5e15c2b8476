import BellhopAgent
import BellhopCore
import BellhopRules

/// A rule file, or a new file, that a person edits: checks, tests and saves their text.
struct Workbench: Sendable {
    /// Nil for a new file.
    let rule: String?
    let path: String
    /// The current text of the file; empty for a new one.
    let text: String
    private let call: Call
    private let workshop: RuleWorkshop

    init(_ call: Call, rule name: String) async throws(Problem) {
        let list = try await RuleList(call)
        let rule = try list.rule(name)
        guard let text = list.text(of: rule) else {
            throw Problem(409, "The file of the rule, \(rule.summary.file), cannot be read now.")
        }
        self.rule = rule.summary.name
        path = rule.summary.file
        self.text = text
        self.call = call
        workshop = try call.workshop
    }

    /// - Throws: 422 if the path is not allowed for a new file, 409 if the file exists.
    init(_ call: Call, newFile path: String) throws(Problem) {
        workshop = try call.workshop
        guard path.utf8.count < 1000 else { throw Problem(422, "The path of the file is too long.") }
        do throws(WorkshopError) { try workshop.requirePlace(for: path) } catch { throw Problem(error) }
        (rule, text) = (nil, "")
        self.path = path
        self.call = call
    }

    /// The entity tag of the text. When the text is saved, the tag shows whether the file was changed after it was read.
    var tag: String { RuleWorkshop.tag(of: Array(text.utf8)) }

    /// Why this visitor may not save it, in a sentence; nil if they may.
    static func refusal(_ view: AgentView, _ visitor: Visitor) -> String? {
        if !view.configuration.mayEdit { return "Nothing is saved here: `console.edit: true` in bellhop.yaml allows it." }
        return visitor.role.includes(.admin) ? nil : "Saving needs the role `admin`."
    }

    /// The change as a patch, with the file's path relative to the folder of bellhop.yaml if it is in it.
    func difference(to text: String) -> String {
        LineDiff.patch(of: workshop.places.inProject(path), from: rule == nil ? nil : self.text, to: text)
    }

    func check(_ text: String) async throws(Problem) -> Diagnostics {
        let file = try edited(text)
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        do throws(WorkshopError) { return try await workshop.check(file) } catch { throw Problem(error) }
    }

    func test(_ text: String) async throws(Problem) -> [RuleTestResult] {
        let file = try edited(text)
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        do throws(WorkshopError) { return try await workshop.test(file) } catch { throw Problem(error) }
    }

    /// - Parameter tag: the tag of the text that the person has edited; ignored for a new file.
    func save(_ text: String, over tag: String = "") async throws(Problem) {
        if let refusal = Self.refusal(call.view, call.visitor) { throw Problem(403, refusal) }
        let file = try edited(text)
        let turn = try call.jobs.checkLimit.enter()
        defer { turn.leave() }
        let result: Result<Void, WorkshopError> = await Person.$current.withValue(call.person) {
            do throws(WorkshopError) {
                return .success(try await rule == nil ? workshop.make(file) : workshop.save(file, over: tag))
            } catch {
                return .failure(error)
            }
        }
        do throws(WorkshopError) { try result.get() } catch { throw Problem(error) }
    }

    private func edited(_ text: String) throws(Problem) -> RuleFile {
        try RuleFile(edited: ["file": .string(path), "text": .string(text)], call)
    }
}
