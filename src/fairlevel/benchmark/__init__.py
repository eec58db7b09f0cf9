"""The paper's study: methods, protocol, tasks and what came out."""
