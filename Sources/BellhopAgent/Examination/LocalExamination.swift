public import BellhopConnectors
import BellhopCore
import BellhopStore
import Glibc

/// Examines what an agent needs on this machine: a place for its store, disk space, a private keychain.
public struct LocalExamination: Sendable {
    private let configuration: Configuration

    public init(_ configuration: Configuration) { self.configuration = configuration }

    public func findings() -> [Finding] { [store, disk, secrets] }

    private var folder: String { PathText.folder(of: configuration.store) }

    private var store: Finding {
        let path = configuration.store
        var facts = stat()
        let exists = stat(path, &facts) == 0
        if access(folder, F_OK) != 0 {
            return missing("store", "the folder \(folder) does not exist", "make it, or name another under `store`")
        }
        if access(folder, W_OK | X_OK) != 0 {
            return missing("store", "the folder \(folder) cannot be written to", "let this user write there")
        }
        if exists, access(path, R_OK | W_OK) != 0 {
            return missing(
                "store", "\(path) cannot be read and written",
                "run this as the user who runs the agent, and let that user do both")
        }
        guard exists, facts.st_size > 0 else { return Finding("store", .ok, "the first run creates \(path)") }
        do throws(StoreError) {
            _ = try Stores.openForReading(path)
            return Finding("store", .ok, "\(path) can be read and written")
        } catch {
            return Finding("store", .missing, error.message, reason: .fileSystem)
        }
    }

    private var disk: Finding {
        var facts = statvfs()
        guard statvfs(folder, &facts) == 0 else { return Finding("disk", .unknown, "the free space cannot be determined") }
        let megabytes = UInt64(facts.f_bavail) * UInt64(facts.f_frsize) / 1_000_000
        if megabytes >= 500 { return Finding("disk", .ok, "there is room") }
        let text = "\(megabytes) MB are free for the store"
        return megabytes < 20
            ? missing("disk", text, "make room") : Finding("disk", .note, text, remedy: "make room before it is full")
    }

    private var secrets: Finding {
        let keychain = configuration.keychain
        do throws(SecretError) {
            let names = try keychain.secretNames()
            let count = names.own.count + names.shared.count
            var facts = stat()
            guard stat(keychain.path, &facts) == 0 else {
                return Finding("keychain", .ok, "not created yet: \(keychain.path)")
            }
            return Finding("keychain", .ok, "\(keychain.path) is for its owner only (\(counted(count, "secret")))")
        } catch {
            return Finding("keychain", .missing, error.message, reason: .badArguments)
        }
    }

    private func missing(_ subject: String, _ text: String, _ remedy: String) -> Finding {
        Finding(subject, .missing, text, remedy: remedy, reason: .fileSystem)
    }
}
